"""Sign-in of owners: one-time links, passwords, passkeys and browser sessions.

The pages in `web.signin` call `sign_in_methods.SignIn`. A successful sign-in becomes a session
in `browser_sessions`.
"""
