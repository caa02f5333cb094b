"""``narrows ui``: the laboratory's page, served on this machine with the native engine behind it.

`serve` is the entry; starlette, uvicorn and websockets (``pip install 'narrows[ui]'``) are imported only when it is
called. One connection of the page is a `session`.
"""
