"""A client of the standard library alone, the body of a chat request, and pages drawn here."""

import base64
import io
import json
import textwrap
import urllib.error
import urllib.request

from PIL import Image, ImageDraw, ImageFont


class Client:
    """Asks one server with the standard library alone."""

    def __init__(self, base_url):
        self.base_url = base_url

    def post(self, body):
        """The status and the reply of a chat request; `body` is JSON or bytes."""
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        return self.fetch("/chat/completions", data=data)

    def fetch(self, path, data=None):
        try:
            with urllib.request.urlopen(urllib.request.Request(self.base_url + path, data=data), timeout=60) as reply:
                return reply.status, json.load(reply)
        except urllib.error.HTTPError as error:
            with error:
                return error.code, json.load(error)

    def ask(self, prompt, *images):
        """The reply's text."""
        status, reply = self.post(chat(prompt, *images))
        assert status == 200, reply
        return reply["choices"][0]["message"]["content"]

    def counts(self):
        """How many pages were asked for and how many read."""
        _, health = Client(self.base_url.removesuffix("/v1")).fetch("/health")
        return health["pages_asked"], health["pages_read"]


def chat(prompt, *images):
    """The body of a chat request; an image is bytes or a URL."""
    parts = [{"type": "image_url", "image_url": {"url": url(image)}} for image in images]
    content = [*parts, {"type": "text", "text": prompt}]
    return {"model": "page-reader-ocr-baseline", "messages": [{"role": "user", "content": content}]}


def url(image):
    if isinstance(image, str):
        return image
    return "data:image/png;base64," + base64.b64encode(image).decode()


def drawn(text, size=(800, 400)):
    """The text on a grey page, wrapped at 60 letters, drawn four times as large and averaged down."""
    image = Image.new("L", (4 * size[0], 4 * size[1]), 255)
    wrapped = "\n".join(textwrap.wrap(text, 60))
    ImageDraw.Draw(image).multiline_text((120, 120), wrapped, font=ImageFont.load_default(88), spacing=40)
    return image.reduce(4)


def file(image, kind="PNG", **settings):
    """The bytes of an image file."""
    buffer = io.BytesIO()
    image.save(buffer, kind, **settings)
    return buffer.getvalue()


def page(text, kind="PNG"):
    """The bytes of a drawn page."""
    return file(drawn(text), kind)
