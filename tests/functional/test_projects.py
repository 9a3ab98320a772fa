"""Projects, over the API."""


def test_a_created_project_is_found_where_its_location_says(service):
    admin = service.user()
    created = admin.post("/projects", {"slug": "shop", "name": " Shop "}, 201)
    assert created.headers["Location"] == "/api/v1/projects/shop"
    assert admin.get("/projects/shop").json == created.json
    assert created.json["name"] == "Shop"
