#!/usr/bin/python3
"""A store of S3 for tests, PyPI's moto: `s3_store.py` prints its port, and an access key and a secret key that may use the
bucket "profiles". All requests have to be signed by a key. It obeys lines of standard input: "dump FOLDER" writes objects to
files and prints their names; "busy N" refuses the next N objects with SlowDown; the end of the input ends it. Run by the interpreter of the environment "moto"
(tests/bench/frameworks/environments.py)."""

import json
import logging
import os
import sys

os.environ["INITIAL_NO_AUTH_ACTION_COUNT"] = "4"  # those of make_keys and make_bucket
os.environ["MOTO_S3_DEFAULT_KEY_BUFFER_SIZE"] = str(1 << 30)

import boto3  # noqa: E402
from moto.moto_server.werkzeug_app import DomainDispatcherApplication  # noqa: E402
from moto.server import ThreadedMotoServer  # noqa: E402

BUCKET = "profiles"
REGION = "eu-test-1"
RIGHTS = {"Version": "2012-10-17",
          "Statement": [{"Effect": "Allow", "Action": "s3:*", "Resource": "*"}]}
SLOW_DOWN = b"<Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>"


class Busy:
    """Stands before moto's application."""

    def __init__(self):
        self.left = 0
        self.behind = DomainDispatcherApplication.__call__
        DomainDispatcherApplication.__call__ = lambda application, *arguments: self(application, *arguments)

    def __call__(self, application, environ, start_response):
        if environ["REQUEST_METHOD"] != "PUT" or self.left == 0:
            return self.behind(application, environ, start_response)
        self.left -= 1
        environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        start_response("503 Slow Down", [("Content-Type", "application/xml"), ("Content-Length", str(len(SLOW_DOWN)))])
        return [SLOW_DOWN]


def client(kind, port, access_key="none", secret_key="none"):
    return boto3.client(kind, endpoint_url=f"http://127.0.0.1:{port}", region_name="us-east-1", aws_access_key_id=access_key,
                        aws_secret_access_key=secret_key)


def serve(port):
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=port, verbose=False)
    server.start()
    return server.get_host_and_port()[1]


def make_keys(port):
    users = client("iam", port)
    users.create_user(UserName="profd")
    users.put_user_policy(UserName="profd", PolicyName="all", PolicyDocument=json.dumps(RIGHTS))
    key = users.create_access_key(UserName="profd")["AccessKey"]
    return key["AccessKeyId"], key["SecretAccessKey"]


def dump(objects, folder):
    names = []
    for page in objects.get_paginator("list_objects_v2").paginate(Bucket=BUCKET):
        for one in page.get("Contents", []):
            path = os.path.join(folder, one["Key"].replace("/", "_"))
            with open(path, "wb") as file:
                file.write(objects.get_object(Bucket=BUCKET, Key=one["Key"])["Body"].read())
            names.append(one["Key"])
    return names


def main():
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    busy = Busy()
    # Who waits for the store's port would take up the requests that need no key.
    own_port = serve(0)
    client("s3", own_port).create_bucket(Bucket=BUCKET)
    keys = make_keys(own_port)
    port = serve(int(sys.argv[1]) if len(sys.argv) > 1 else 0)
    print(json.dumps([port, *keys]), flush=True)
    objects = client("s3", port, *keys)
    for line in sys.stdin:
        verb, what = line.split()
        if verb == "busy":
            busy.left = int(what)
        print(json.dumps(dump(objects, what) if verb == "dump" else busy.left), flush=True)


if __name__ == "__main__":
    main()
