"""The OpenAPI document and the schemas that it is made of."""
