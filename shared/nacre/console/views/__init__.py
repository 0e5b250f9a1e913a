"""Interactive views of the console's pages for clients that show them (MCP Apps).

`view_surface` adds the views and their tools to a server, for clients that declared the extension.
`view_tools` answers a call with text for the model and, from the console's own templates, HTML for
the view. `view_document` is the document that a client puts into its sandbox: it shows that HTML
and can do nothing but call tools with the client's own token.
"""
