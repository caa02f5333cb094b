# Narrows in a container:
#   docker build -t narrows .
#   docker run --rm --user "$(id -u)" -v "$PWD:/work" narrows run dumbbell-cubic -o out
# Simulation, sweeps and pages need no rights; live runs need --privileged --user 0.
ARG DEBIAN=bookworm

FROM rust:1.95-slim-${DEBIAN} AS build
RUN apt-get update -q \
    && apt-get install -q -y --no-install-recommends gcc libc6-dev libelf-dev make pkg-config python3 python3-venv zlib1g-dev \
    && rm -rf /var/lib/apt/lists/*
RUN python3 -m venv /build && /build/bin/pip install --no-cache-dir 'maturin>=1.9,<2'
WORKDIR /src
COPY . .
# The commit in results; the image has no git.
ARG NARROWS_COMMIT=""
RUN .ci/guest "$(rustc -vV | sed -n 's/^host: //p')" python/narrows/guest \
    && /build/bin/maturin build --release --locked --auditwheel skip --interpreter /build/bin/python --out /wheels

FROM python:3.13-slim-${DEBIAN}
RUN apt-get update -q \
    && apt-get install -q -y --no-install-recommends libelf1 zlib1g \
    && rm -rf /var/lib/apt/lists/*
COPY --from=build /wheels /wheels
RUN pip install --no-cache-dir "$(echo /wheels/*.whl)[dask]" \
    && rm -rf /wheels \
    && useradd --create-home narrows
# With --user there is no home directory.
ENV MPLCONFIGDIR=/tmp/matplotlib
USER narrows
WORKDIR /work
ENTRYPOINT ["narrows"]
CMD ["--help"]
