# The quickstart in a container:  docker build -t snnbench .  &&  docker run --rm --user "$(id -u)" -v "$PWD/results:/results" snnbench
ARG BASE_IMAGE=python:3.11-slim-bookworm
FROM ${BASE_IMAGE}
WORKDIR /snnbench
COPY constraints.txt ./
RUN pip install --no-cache-dir "$(grep '^torch==' constraints.txt)" --constraint constraints.txt \
 && pip install --no-cache-dir --no-deps --requirement constraints.txt
COPY . .
RUN pip install --no-cache-dir --no-deps .
RUN mkdir --mode=777 /results
ENV HOME=/tmp
USER 10001
ENTRYPOINT ["snnbench"]
CMD ["run", "--config", "configs/quickstart.toml", "--out", "/results/quickstart"]
