"""Links to media, against an S3 on loopback that checks their signatures as AWS does."""

import hashlib
import json
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping

import pytest

from infra import services
from infra.local_cloud import credentials, local_cloud
from infra.tools import MissingPythonError
from nacre.adapters.aws.s3_media_links import S3MediaLinks
from nacre.ports.media.media_links import UploadLink
from nacre.wiring.aws import Clients
from nacre.wiring.settings import Settings
from tests.infra.declared import ROOT

pytestmark = pytest.mark.slow

NAME = "media/a-being/in/one"
CONTENT = b"tides"


@pytest.fixture(scope="module")
def links() -> Iterator[S3MediaLinks]:
    told = json.loads((ROOT / "infra" / "local.json").read_text())["Parameters"]
    try:
        with local_cloud() as cloud, pytest.MonkeyPatch.context() as patch:
            services.create(cloud)
            for name, value in credentials(cloud).items():
                patch.setenv(name, value)
            client = Clients(Settings("", endpoint_url=cloud, region="us-east-1"))("s3")
            yield S3MediaLinks(client, told["NACRE_BLOBS_BUCKET"], kms_key_id=told["NACRE_KMS_KEY"])
    except MissingPythonError:
        pytest.skip("no Python 3.13 on this machine")


@pytest.fixture
def link(links: S3MediaLinks) -> Iterator[UploadLink]:
    digest = hashlib.sha256(CONTENT).hexdigest()
    yield links.upload(NAME, size=len(CONTENT), mime_type="text/plain", sha256=digest)
    links.delete(NAME)


def sent(url: str, content: bytes, headers: Mapping[str, str]) -> int:
    """Send a content, and return the status."""
    request = urllib.request.Request(url, data=content, method="PUT", headers=dict(headers))
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        error.close()
        return error.code


def test_a_link_takes_what_was_announced_and_takes_it_once(
    links: S3MediaLinks, link: UploadLink
) -> None:
    assert links.uploaded(NAME, size=len(CONTENT)) is None
    assert sent(link.url, CONTENT, link.headers) == 200
    assert sent(link.url, CONTENT, link.headers) == 412
    assert links.uploaded(NAME, size=len(CONTENT)) == CONTENT


def test_a_link_takes_nothing_else(links: S3MediaLinks, link: UploadLink) -> None:
    without = {name: value for name, value in link.headers.items() if name != "If-None-Match"}
    statuses = {
        "shorter": sent(link.url, CONTENT[:3], link.headers),
        "longer": sent(link.url, CONTENT + b"!", link.headers),
        "another content": sent(link.url, b"abcde", link.headers),
        "another type": sent(link.url, CONTENT, {**link.headers, "Content-Type": "text/html"}),
        "may replace": sent(link.url, CONTENT, without),
        "another name": sent(link.url.replace("/in/one", "/in/two"), CONTENT, link.headers),
        "another Being": sent(link.url.replace("/a-being/", "/b-being/"), CONTENT, link.headers),
        "longer lived": sent(link.url.replace("=900&", "=9000&"), CONTENT, link.headers),
    }

    assert {name: status for name, status in statuses.items() if status not in (400, 403)} == {}
    assert links.uploaded(NAME, size=len(CONTENT)) is None


def test_an_answer_is_downloaded_whole(links: S3MediaLinks) -> None:
    film = b"\x00\x01" * 5_000_000
    url = links.download(
        "media/a-being/out/film", film, mime_type="video/mp4", file_name='a "b"\r\n.mp4'
    )
    with urllib.request.urlopen(url, timeout=20) as answer:
        body, disposition = answer.read(), answer.headers["content-disposition"]

    assert body == film
    assert disposition == "attachment; filename*=UTF-8''a%20%22b%22%0D%0A.mp4"
