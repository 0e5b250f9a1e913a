"""The HTTP/1.1 client: requests to other servers, and fetched documents.

`client.HttpClient` sends a request to an `Address` and returns a `Response`, whose body is read
piece by piece. `outgoing` has the proxies and the trusted authorities. `public_addresses` refuses
private addresses, and `server_sent_events` reads streams.
"""
