"""Agile-SD (Alrshah, Othman, Ali, Hanapi 2015): three scenarios over buffers and packet error rates."""
