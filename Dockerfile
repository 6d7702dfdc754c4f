# The client, without a server: docker build -t vqa-client . && docker run --rm -v "$PWD:/work" vqa-client --help
FROM python:3.13-slim
COPY . /source
RUN pip install --no-cache-dir '/source[html,parquet,render,robustness,plots]' && rm -rf /source
WORKDIR /work
ENTRYPOINT ["vqa-client"]
