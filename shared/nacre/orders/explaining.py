"""What is told where the model gives no answer."""

from collections.abc import Sequence

from nacre.errors import ModelError, ToolError
from nacre.orders.media_in import Attachment

NO_MODEL = (
    "no language model is configured: set NACRE_LLM_API_KEY (or OPENAI_API_KEY; with"
    " NACRE_LLM_BASE_URL and NACRE_LLM_MODEL for another provider or a local one, where any word"
    " is a key), or give this Being a key with 'nacre llm-key set', or send one as X-LLM-API-Key"
)


def explained(
    error: ModelError, model: str, attachments: Sequence[Attachment]
) -> ModelError | ToolError:
    """Return the error in words that say what may be done about it."""
    match error.kind:
        case "too_long":
            return ToolError(
                f"the order is longer than the model {model!r} can hold, also without the older"
                " turns of its session; send less at once"
            )
        case "rejected_key":
            return ToolError(f"{error}; see NACRE_LLM_API_KEY, 'nacre llm-key' or X-LLM-API-Key")
        case "unavailable" if "refused the request" in str(error) and any(
            each.kind == "image" for each in attachments
        ):
            return ToolError(f"{error}. Perhaps the model {model!r} takes no images")
        case _:
            return error
