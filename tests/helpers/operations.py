"""Every operation of the curator's HTTP interface that needs a token."""

OPERATIONS = [
    ("GET", "/v1/release"),
    ("GET", "/v1/release/file"),
    ("GET", "/v1/release/manifest"),
    ("GET", "/v1/release/parts/{part}"),
    ("GET", "/v1/guarantee"),
    ("GET", "/v1/queries"),
    ("POST", "/v1/queries"),
    ("GET", "/v1/queries/{number}"),
    ("GET", "/v1/staff/queries"),
    ("PUT", "/v1/staff/known"),
    ("PUT", "/v1/staff/queries/{number}/measurement"),
    ("PUT", "/v1/staff/queries/{number}/correction"),
    ("PUT", "/v1/staff/queries/{number}/withdrawal"),
    ("POST", "/v1/staff/queries/{number}/retry"),
]
