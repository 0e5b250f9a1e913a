"""Every number Nacre promises, each with its reason."""

MAX_BODY_BYTES = 4 * 1024 * 1024  # the official SDKs' default; Lambda itself stops at 6 MB
MAX_JSON_DEPTH = 64  # deeper than any real schema, far from Python's recursion limit
MAX_REQUEST_STATE_BYTES = 64 * 1024  # it travels with every retry; forms are far smaller
REQUEST_STATE_SECONDS = 600  # a person answers a form within ten minutes
LIST_PAGE = 200  # definitions in one page: a gateway's whole catalogue in one or two answers
CATALOGUE_TTL_MS = 300_000  # a client may reuse a list for five minutes, as long as a coffee break
MAX_ITEM_BYTES = 400 * 1024  # DynamoDB's own limit, attribute names included
MAX_TRANSACTION_WRITES = 100  # DynamoDB's own limit
MAX_TRANSACTION_BYTES = 4 * 1024 * 1024  # DynamoDB's own limit
MAX_PARTITION_KEY_BYTES = 2048  # DynamoDB's own limit
MAX_SORT_KEY_BYTES = 1024  # DynamoDB's own limit
MAX_ITEM_DEPTH = 32  # DynamoDB's own limit
MAX_WHOLE_NUMBER = 2**53 - 1  # beyond it a double, and so JSON, cannot tell neighbours apart
TRANSACTION_TOKEN_SECONDS = 600  # as long as DynamoDB remembers its own request tokens
STORE_BUSY_SECONDS = 10.0  # far longer than any write takes; a stuck process shows itself
MAX_MESSAGE_BYTES = 64 * 1024  # messages carry ids; SQS would take 1 MiB
MAX_RECEIVES = 3  # a job that failed three times needs a person
QUEUE_DEDUPE_SECONDS = 300  # SQS FIFO's own window
DEAD_MESSAGE_DAYS = 14  # the longest that SQS keeps one
JOB_SECONDS = 300  # a laptop's job that has not renewed for so long is taken to be dead
MAX_SECRET_BYTES = 4096  # what KMS encrypts in one call
MAX_BLOB_BYTES = 100 * 1024 * 1024  # the largest call the laptop takes
BLOB_DAYS = 7  # long enough to fetch a result after a weekend
