# Nacre in a container, for arm64 and x86-64: docker build --tag nacre .
# It serves 0.0.0.0:8000/mcp. docs/guides/container.md shows how to run it.
ARG PYTHON=3.13-slim-bookworm

FROM python:${PYTHON} AS build
ENV UV_COMPILE_BYTECODE=1 UV_LINK_MODE=copy UV_PROJECT_ENVIRONMENT=/opt/nacre UV_PYTHON_DOWNLOADS=never
RUN pip install --no-cache-dir uv==0.13.8
WORKDIR /src
COPY pyproject.toml uv.lock README.md LICENSE ./
COPY shared shared
RUN uv sync --locked --no-cache --no-dev --no-editable --extra aws --extra openai

FROM python:${PYTHON}
# The MCP registry compares this with the name in server.json.
ARG SERVER_NAME=io.github.OWNER/nacre
LABEL io.modelcontextprotocol.server.name=${SERVER_NAME} \
      org.opencontainers.image.title="Nacre" \
      org.opencontainers.image.licenses="MIT"
COPY --from=build /opt/nacre /opt/nacre
RUN useradd --uid 10001 --no-create-home --home-dir /data --shell /usr/sbin/nologin nacre \
    && install -d -m 0700 -o nacre -g nacre /data
ENV PATH=/opt/nacre/bin:$PATH NACRE_HOME=/data PYTHONDONTWRITEBYTECODE=1
USER 10001:10001
WORKDIR /data
# No VOLUME: an anonymous volume looks durable and is lost with the container. Mount one at /data,
# or name a stack with NACRE_STACK; without either the server refuses to start.
EXPOSE 8000
HEALTHCHECK --interval=30s --timeout=5s --start-period=20s --retries=3 \
    CMD ["python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:8000/ping', timeout=4)"]
ENTRYPOINT ["nacre"]
CMD ["serve", "--container"]
