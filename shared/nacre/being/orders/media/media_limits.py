"""The limits on the media of one order, and the texts that name them."""

from nacre.core.lazy_dataclasses import dataclass, replace
from nacre.core.limits import (
    LAMBDA_MEDIA_BYTES,
    LAPTOP_MEDIA_BYTES,
    MAX_ANSWER_ITEM_BYTES,
    MAX_ANSWER_MEDIA_BYTES,
    MAX_FILES,
    MAX_IMAGES,
    MAX_MEDIA_BYTES,
    UPLOADED_MEDIA_BYTES,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class MediaLimits:
    """The limits of one call and of one answer, in bytes before base64."""

    images: int = MAX_IMAGES
    files: int = MAX_FILES
    item_bytes: int = MAX_MEDIA_BYTES
    call_bytes: int
    answer_item_bytes: int = MAX_ANSWER_ITEM_BYTES
    answer_bytes: int = MAX_ANSWER_MEDIA_BYTES
    deployment: str  # the noun in texts such as "this server accepts"
    instead: str  # what to do when a call is too large
    platform: str = ""  # why the limit is there
    linked_bytes: int = 0  # of an answer, with what links lead to; 0 without links

    @classmethod
    def laptop(cls) -> "MediaLimits":
        """Return the limits of a server on this machine, within one call's body."""
        return cls(call_bytes=LAPTOP_MEDIA_BYTES, deployment="server", instead="Use fewer files.")

    @classmethod
    def aws(cls) -> "MediaLimits":
        """Return the limits of a stack, where a call and its answer pass through Lambda."""
        return cls(
            call_bytes=LAMBDA_MEDIA_BYTES,
            answer_bytes=LAMBDA_MEDIA_BYTES,
            deployment="deployment",
            instead="Use the local server or fewer files.",
            platform=" (AWS Lambda)",
        )

    def with_links(self) -> "MediaLimits":
        """Return these limits where clients may upload and download by links."""
        return replace(
            self,
            instead="Give 'size' (bytes) in place of 'data' to get a link for an upload, or send"
            " fewer files.",
            linked_bytes=MAX_ANSWER_MEDIA_BYTES,
        )

    def with_uploads(self) -> "MediaLimits":
        """Return these limits for an order whose contents did not all pass through the call."""
        return replace(
            self, call_bytes=UPLOADED_MEDIA_BYTES, platform="", instead="Use fewer files."
        )

    def too_much(self, size: int) -> str:
        """Return the error text for a call whose attachments exceed the limit."""
        return (
            f"attachments are {megabytes(size, over=self.call_bytes)} MB; this {self.deployment}"
            f" accepts {megabytes(self.call_bytes)} MB per call{self.platform}. {self.instead}"
        )


def megabytes(size: int, *, over: int | None = None) -> str:
    """Return a size in MB, with the fewest digits that show it to be over a limit."""
    digits = 1
    while over is not None and digits < 6 and round(size / 1e6, digits) <= over / 1e6:
        digits += 1
    return f"{size / 1e6:.{digits}f}"


def bound(size: int) -> str:
    """Return a limit in words; one that is a whole number of MiB is given in both units."""
    mebibytes, remainder = divmod(size, 1024 * 1024)
    return f"{megabytes(size)} MB" if remainder else f"{mebibytes} MiB ({megabytes(size)} MB)"


def readable(size: int) -> str:
    """Return a size as people read it."""
    if size < 1000:
        return f"{size} bytes"
    return f"{size / 1000:.0f} kB" if size < 999_500 else f"{megabytes(size)} MB"
