"""Home and search, without JavaScript: what one sees, what needs one, and what happened."""

from __future__ import annotations

import pytest
from pages import Browser, submit
from rotation import NEW_KEY, NEXT_KEY, fill, rotated
from secrets_client import Vault
from service import ADMIN, MASTER_KEY, arrange
from sqlalchemy import insert
from statements import recorded

from secretsvc.kernel.clock import now_ms
from secretsvc.kernel.ids import new_id
from secretsvc.tables.projects import environment, project

ADA = "ada@example.com"
HOUR = 3_600_000
DAY = 24 * HOUR
EVIL = "<script>alert(1)</script>\"'${1+1}"


def read(element):
    return " ".join(element.get_text(" ").split()).replace(" ,", ",").replace(" :", ":")


def projects(page):
    return [row.th.a["href"].removeprefix("/projects/") for row in page.html.select("table tbody tr")]


def attention(page):
    """What needs attention, as words; empty where nothing does."""
    return [read(item) for item in page.html.select("section[aria-labelledby=attention] li")]


def steps(page):
    return ["".join(step.get("class", ())) for step in page.html.select(".steps > li")]


def waiting(page):
    return " ".join(attention(page))


def results(page):
    sections = page.html.select("main section[aria-labelledby]")
    return {section.h2.text: [link["href"] for link in section.find_all("a")] for section in sections}


def test_visible_projects_stand_with_their_environments_and_last_change(service, admin):
    Vault(admin).set(A="1", B="2")
    admin.patch("/projects/shop/environments/prod", {"protected": True})
    page = Browser(service).open("/")
    (row,) = page.html.select("table tbody tr")
    assert row.th.a["href"] == "/projects/shop"
    assert {read(chip): chip["href"] for chip in row.select(".chip")} == {
        "Prod 2, protected": "/projects/shop/environments/prod",
        "Dev 0": "/projects/shop/environments/dev",
    }
    assert read(row.select("td")[1]).startswith("root@example.com")
    assert row.find("time", {"datetime": True})
    current = page.html.find("nav", {"aria-label": "Main"}).find("a", {"aria-current": "page"})
    assert current["href"] == "/"


def test_what_the_caller_does_not_see_is_not_there(service, admin):
    arrange(service, "depot", "prod")
    service.grant(ADA, "reader", "shop/prod")
    page = Browser(service, ADA).open("/")
    assert projects(page) == ["shop"]
    assert [read(link) for link in page.html.select("table .chip")] == ["Prod 0"]
    assert "Nothing needs you." in page.html.main.text
    assert page.html.find("section", {"aria-labelledby": "activity"}) is None
    assert page.html.find("a", href="/admin/keyring") is None


@pytest.mark.both_engines
def test_a_newcomer_is_told_what_to_do(service, admin):
    page = Browser(service, "new@example.com").open("/")
    text = page.html.main.find(class_="note").text
    assert "no grant lets you see anything so far" in text
    assert "new@example.com" in text
    assert not projects(page)
    assert page.html.find("a", href="/projects?new") is None


@pytest.mark.both_engines
def test_the_first_steps_stand_while_there_is_no_project_and_tick_themselves(service):
    browser = Browser(service)
    page = browser.open("/")
    assert page.html.h1.text == "Set up secretsvc"
    assert steps(page) == ["done", "here", "", ""]
    assert "BOOTSTRAP_ADMINS" in page.html.main.text
    page = submit(page, "/projects", name="Web shop", **{"environment.staging": None})
    assert page.request.path == "/projects/web-shop/environments/development/import"
    listed = service.user().get("/projects/web-shop/environments").json["items"]
    assert [(one["slug"], one["protected"]) for one in listed] == [
        ("development", False),
        ("production", True),
    ]
    assert browser.open("/").html.h1.text == "Home"
    page = browser.open("/?setup")
    assert steps(page) == ["done", "done", "here", ""]
    Vault(service.user(), "/projects/web-shop/environments/development").set(A="1")
    page = browser.open("/?setup")
    assert steps(page) == ["done", "done", "done", "here"]
    robot = service.identity_id("deploy.robot", "service")
    service.grant(robot, "reader", "web-shop")
    service.robot("deploy.robot").get("/projects/web-shop/environments/development/secrets/A")
    assert steps(browser.open("/?setup")) == ["done"] * 4


def test_those_who_may_not_create_have_no_first_steps(service):
    service.grant(ADA, "reader")
    page = Browser(service, ADA).open("/?setup")
    assert page.html.h1.text == "Home"


@pytest.mark.both_engines
def test_what_happened_lately_is_told_in_sentences_to_those_who_may_audit_it(service, admin):
    arrange(service, "depot", "prod")
    Vault(admin).batch(set={"A": "very-secret"}, reason="Rotation")
    Vault(admin).get("secrets/A")
    service.grant(ADA, "admin", "shop")
    told = [read(item) for item in Browser(service, ADA).open("/").html.select(".feed li")]
    assert told[0].startswith("root@example.com revealed A in Shop / Prod")
    assert told[1].startswith("root@example.com added A in Shop / Prod “Rotation” ·")
    assert "Depot" not in " ".join(told)
    assert "very-secret" not in " ".join(told)


def test_what_one_used_lately_is_found_again(service, admin):
    service.grant(ADA, "writer", "shop")
    service.grant("bob@example.com", "writer", "shop")
    ada, dev = Vault(service.user(ADA)), Vault(service.user(ADA), "/projects/shop/environments/dev")
    ada.set(A="very-secret", B="1", C="1")
    for key in "ABCB":
        ada.get(f"secrets/{key}")
    dev.values()
    Vault(service.user("bob@example.com")).get("secrets/A")
    page = Browser(service, ADA).open("/")
    prod = "/projects/shop/environments/prod"
    assert used(page) == {
        "Dev": "/projects/shop/environments/dev",
        "B": f"{prod}/secrets/B",
        "C": f"{prod}/secrets/C",
        "A": f"{prod}/secrets/A",
        "Prod": prod,
    }
    assert [*used(page)] == ["Dev", "B", "C", "A", "Prod"]
    assert "very-secret" not in page.text
    ada.batch(delete=["C"])
    assert [*used(Browser(service, ADA).open("/"))] == ["Prod", "Dev", "B", "A"]
    assert used(Browser(service, "new@example.com").open("/")) == {}


@pytest.mark.both_engines
def test_what_one_may_read_no_more_is_not_shown_as_used(service, admin):
    held = service.grant(ADA, "writer", "shop/prod")
    Vault(service.user(ADA)).set(A="1")
    Vault(service.user(ADA)).get("secrets/A")
    service.grant(ADA, "reader", "shop/dev")
    assert len(used(Browser(service, ADA).open("/"))) == 2
    admin.delete(f"/grants/{held}")
    page = Browser(service, ADA).open("/")
    assert projects(page) == ["shop"]
    assert used(page) == {}


def used(page):
    """What one used lately, by its name, and the ways there."""
    return {link.text: link["href"] for link in page.html.select("section[aria-labelledby=yours] li a")}


def test_values_that_no_loaded_key_can_open_and_gaps_of_protected_environments_need_who_writes_there(
    service, admin
):
    admin.post("/projects/shop/environments", {"slug": "live", "name": "Live"}, 201)
    staging, live = Vault(admin, "/projects/shop/environments/dev"), "/projects/shop/environments/live"
    Vault(admin).set(LOST="1", KEPT="1")
    staging.set(A="1", B="1", C="1", D="1", BOTH="1", GONE="1")
    Vault(admin, live).set(BOTH="1", GONE="1")
    staging.batch(delete=["GONE"])
    admin.patch(live, {"protected": True})
    service.grant(ADA, "writer", "shop")
    service.grant("rita@example.com", "reader", "shop")
    told = attention(Browser(service, ADA).open("/"))
    assert [text.split(" Compare")[0] for text in told] == [
        "4 keys are set in Dev but not in Live of Shop A, B, C and 1 more"
    ]
    page = Browser(service, ADA).open("/")
    assert page.html.select_one(".lines a.btn")["href"] == "/projects/shop/compare?from=dev&to=live"
    assert read(page.html.select_one(".chip.warm")) == "Live 2, protected, 4 missing"
    assert attention(Browser(service, "rita@example.com").open("/")) == []
    lost = service.restarted(MASTER_KEY=NEXT_KEY, MASTER_KEY_OLD=MASTER_KEY)
    lost.user().post("/admin/rekey", {"limit": 1000})
    page = Browser(service, ADA).open("/")
    assert "2 values cannot be read in Shop / Prod KEPT and LOST were sealed by a key that is not loaded" in (
        waiting(page)
    )
    assert read(page.html.select_one(".chip.hot")) == "Prod 2, 2 unreadable"
    assert attention(Browser(service, "rita@example.com").open("/")) == []


@pytest.mark.both_engines
def test_who_may_not_extend_it_is_told_that_an_own_grant_ends(service, admin):
    service.grant(ADA, "writer", "shop/dev", expires_at=now_ms() + 6 * DAY + HOUR)
    assert attention(Browser(service, ADA).open("/")) == [
        "Your writer role on Shop / Dev ends in 6 days Ask one of its admins to extend it"
        " What I may do: Your writer role on Shop / Dev ends in 6 days"
    ]


@pytest.mark.both_engines
def test_many_projects_stand_on_pages(service, admin):
    rows = [
        {"id": new_id(), "slug": f"p-{number:03}", "name": f"P {number:03}", "created_at": 1, "updated_at": 1}
        for number in range(150)
    ]
    service.execute(insert(project), rows)
    page = Browser(service).open("/")
    found = projects(page)
    page = page.click(linkid=None, href="cursor=")
    found += projects(page)
    assert found == ["shop", *(row["slug"] for row in rows)]
    assert page.html.find("a", rel="next") is None
    Browser(service).open("/?cursor=x", 422)


def test_identities_turned_away_and_ending_grants_need_those_who_may_see_them(service, admin):
    arrange(service, "depot", "prod")
    service.user("stranger@example.com").get("/projects/shop", 404)
    service.grant("bob@example.com", "writer", "shop/dev", expires_at=now_ms() + DAY + HOUR)
    service.grant("bob@example.com", "reader", "depot", expires_at=now_ms() + DAY)
    service.grant(ADA, "admin", "shop")
    page = Browser(service, ADA).open("/")
    ending, away = attention(page)
    assert ending.startswith("1 grant ends this week bob@example.com, writer on Shop / Dev, tomorrow")
    assert away.startswith(
        "1 identity was turned away without any grant Last: stranger@example.com, just now"
    )
    assert "1 attempt" in away
    links = page.html.select("section[aria-labelledby=attention] a")
    assert [link["href"] for link in links] == ["/grants", "/access/unknown-identities"]
    assert "2 grants end this week bob@example.com, reader on Depot" in waiting(Browser(service).open("/"))
    service.grant("eve@example.com", "admin", "depot")
    assert "turned away" not in waiting(Browser(service, "eve@example.com").open("/"))


def test_more_ending_grants_than_are_counted_are_said_to_be_more(service, admin):
    for number in range(25):
        service.grant(f"u{number}@example.com", "writer", "shop", expires_at=now_ms() + DAY)
    assert waiting(Browser(service).open("/")).startswith("More than 20 grants end this week")


@pytest.mark.slow
@pytest.mark.both_engines
def test_the_state_of_the_key_ring_needs_global_admins_alone(service, admin):
    fill(admin)
    service.grant(ADA, "admin", "shop")
    turned = rotated(service)
    assert "Key rotation is at 0 % 9 of 9 envelopes are still sealed by the old key" in waiting(
        Browser(turned).open("/")
    )
    assert attention(Browser(turned, ADA).open("/")) == []
    turned.user().post("/admin/rekey", {"limit": 1000})
    assert "No envelope needs the old master key" in waiting(Browser(turned).open("/"))
    lost = service.restarted(MASTER_KEY=NEXT_KEY, MASTER_KEY_OLD=MASTER_KEY)
    assert "cannot be read in Shop / Prod" in waiting(Browser(lost).open("/"))
    done = service.restarted(MASTER_KEY=NEW_KEY)
    assert attention(Browser(done).open("/")) == []


def test_the_page_stands_without_a_master_key_and_says_so(service, admin):
    broken = service.restarted(MASTER_KEY="too short")
    assert "The master key is not loaded" in waiting(Browser(broken).open("/"))
    assert projects(Browser(broken).open("/")) == ["shop"]


def test_a_search_leads_to_what_it_found(service, admin):
    Vault(admin).batch(set={"SHOP_TOKEN": "value-of-it", "OTHER": "x"}, descriptions={"OTHER": "of the Shop"})
    Vault(admin, "/projects/shop/environments/dev").set(SHOP_TOKEN="x")
    page = Browser(service).open("/")
    form = next(one for one in page.forms.values() if one.action == "/search")
    form["q"] = " shop "
    page = form.submit()
    prod, dev = (f"/projects/shop/environments/{slug}/secrets" for slug in ("prod", "dev"))
    assert results(page) == {
        "Keys": [
            f"{prod}/OTHER", f"{prod}/OTHER",
            f"{prod}/SHOP_TOKEN", f"{prod}/SHOP_TOKEN", f"{dev}/SHOP_TOKEN",
        ],
        "Projects": ["/projects/shop"],
    }  # fmt: skip
    assert page.html.find(id="hero")["value"] == "shop"
    assert [mark.text for mark in page.html.find_all("mark")] == ["Shop", "SHOP", "Shop"]
    assert "value-of-it" not in page.text
    page = Browser(service).open("/search?q=DEV")
    # The field of the sidebar is for the next question.
    assert [field.get("value") for field in page.html.find_all(attrs={"name": "q"})][:2] == [None, "DEV"]
    assert results(page) == {"Environments": ["/projects/shop/environments/dev"]}


@pytest.mark.both_engines
def test_a_search_is_narrowed_to_one_kind_and_counts_each(service, admin):
    Vault(admin).set(SHOP_TOKEN="x")
    page = Browser(service).open("/search?q=shop&show=projects")
    assert [read(link) for link in page.html.select(".seg a")] == [
        "All 2", "Keys 1", "Projects 1", "Environments 0", "People and tokens 0",
    ]  # fmt: skip
    assert [*results(page)] == ["Projects"]
    assert page.html.select_one(".seg [aria-current]").text.split()[0] == "Projects"


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("in:shop", {"depot/prod": 0, "shop/dev": 1, "shop/prod": 1}),
        ("env:prod", {"depot/prod": 1, "shop/dev": 0, "shop/prod": 1}),
        ("in:shop  env:prod", {"depot/prod": 0, "shop/dev": 0, "shop/prod": 1}),
        ("in:absent", {"depot/prod": 0, "shop/dev": 0, "shop/prod": 0}),
    ],
)
def test_a_search_is_narrowed_by_words_to_projects_and_environments(service, admin, words, expected):
    arrange(service, "depot", "prod")
    for path in expected:
        slug, name = path.split("/")
        Vault(admin, f"/projects/{slug}/environments/{name}").set(PART_OF_IT="x")
    page = Browser(service).open("/search", params={"q": f"part_of {words} it"})
    assert not page.html.select(".lines"), "both words are sought, beside each other"
    page = Browser(service).open("/search", params={"q": f"{words} part_of_it"})
    chips = [link["href"].split("/")[2::2][:2] for link in page.html.select(".chips a")]
    assert {path: chips.count(path.split("/")) for path in expected} == expected
    assert page.html.find(id="hero")["value"] == f"{words} part_of_it"
    assert "People" not in page.html.main.text


@pytest.mark.both_engines
def test_a_narrowed_search_finds_places_too_and_wants_a_word(service, admin):
    arrange(service, "depot", "prod")
    page = Browser(service).open("/search", params={"q": "in:shop o"})
    assert results(page) == {
        "Projects": ["/projects/shop"], "Environments": ["/projects/shop/environments/prod"],
    }  # fmt: skip
    page = Browser(service).open("/search", params={"q": "o env:prod"})
    assert [*results(page)] == ["Environments"]
    page = Browser(service).open("/search", params={"q": "in:shop"}, status=422)
    assert "Say what is to be found there" in page.html.find(role="alert").text
    assert page.html.find(id="hero")["value"] == "in:shop"
    page = Browser(service).open("/search", params={"q": "in:absent o"})
    said = "Nothing that you see has “o” in its name or description and is in a project “absent”."
    assert said in read(page.html.select_one(".empty"))


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("is:missing", ["dev/ONLY_DEV", "prod/GONE_FROM_DEV"]),
        ("in:shop is:missing only", ["dev/ONLY_DEV"]),
        ("env:dev is:missing", ["prod/GONE_FROM_DEV"]),
        ("in:absent is:missing", []),
        ("by:WENDY", ["dev/BOTH", "dev/ONLY_DEV"]),
        ("by:wendy env:prod", []),
        ("by:wendy is:missing", ["dev/ONLY_DEV"]),
        ("by:nobody", []),
    ],
)
def test_a_search_is_narrowed_to_keys_by_what_they_are_and_by_whom(service, admin, words, expected):
    service.grant("wendy@example.com", "writer", "shop/dev")
    Vault(admin).set(BOTH="x", GONE_FROM_DEV="x", TAKEN_OVER="x")
    dev = Vault(service.user("wendy@example.com"), "/projects/shop/environments/dev")
    dev.set(BOTH="x", ONLY_DEV="x", GONE_FROM_DEV="x", TAKEN_OVER="x")
    dev.batch(delete=["GONE_FROM_DEV"])
    Vault(admin, dev.base).set(TAKEN_OVER="y")
    page = Browser(service).open("/search", params={"q": words})
    chips = ["/".join(link["href"].split("/")[4::2]) for link in page.html.select(".chips a")]
    assert sorted(chips) == expected
    assert {*results(page)} == ({"Keys"} if expected else set())


def test_a_key_is_missing_only_from_environments_that_the_caller_sees(service, admin):
    service.grant(ADA, "reader", "shop/prod")
    Vault(admin).set(ONLY_PROD="x")
    assert "ONLY_PROD" in Browser(service).open("/search", params={"q": "is:missing"}).html.main.text
    for asked in ("is:missing", "is:missing env:dev"):
        page = Browser(service, ADA).open("/search", params={"q": asked})
        assert "ONLY_PROD" not in page.html.main.text
        assert "is missing from" in read(page.html.select_one(".empty"))


def test_whether_a_key_is_missing_is_judged_by_the_environments_in_sight_of_its_own_project(service, admin):
    arrange(service, "depot", "prod", "dev")
    admin.post("/projects/shop/environments", {"slug": "stage", "name": "Stage"}, 201)
    held = {
        "shop/prod": ["ALL", "TWO", "ONE"],
        "shop/dev": ["ALL", "TWO"],
        "shop/stage": ["ALL", "FAR"],
        "depot/prod": ["ALL", "ONE"],
        "depot/dev": ["ALL"],
    }
    for at, keys in held.items():
        project, inner = at.split("/")
        Vault(admin, f"/projects/{project}/environments/{inner}").set(**dict.fromkeys(keys, "x"))
    for at in ("shop/prod", "shop/dev", "depot"):
        service.grant(ADA, "reader", at)

    def missing(subject, words=""):
        page = Browser(service, subject).open("/search", params={"q": f"{words} is:missing"})
        return sorted("/".join(one["href"].split("/")[2::2]) for one in page.html.select(".chips a"))

    everywhere = ["depot/prod/ONE", "shop/dev/TWO", "shop/prod/ONE", "shop/prod/TWO", "shop/stage/FAR"]
    assert missing(ADMIN) == everywhere
    assert missing(ADA) == ["depot/prod/ONE", "shop/prod/ONE"]
    assert missing(ADA, "in:shop") == ["shop/prod/ONE"]
    assert missing(ADA, "env:dev") == ["depot/prod/ONE", "shop/prod/ONE"]
    assert missing(ADA, "env:stage") == []


@pytest.mark.parametrize("word", ["in:", "in:Shop", "env:", "is:", "is:lost", "by:"])
def test_a_word_that_can_narrow_to_nothing_is_refused_with_what_it_takes(service, word):
    page = Browser(service).open("/search", params={"q": f"{word} key"}, status=422)
    assert f"Behind {word.partition(':')[0]}: stands" in read(page.html.find(role="alert"))
    assert page.html.find(id="hero")["value"] == f"{word} key"


@pytest.mark.both_engines
def test_a_search_finds_nothing_that_the_caller_does_not_see(service, admin):
    Vault(admin).set(SHOP_TOKEN="x")
    service.grant(ADA, "reader", "shop/dev")
    browser = Browser(service, ADA)
    assert results(browser.open("/search?q=shop")) == {"Projects": ["/projects/shop"]}
    assert "Nothing that you see" in browser.open("/search?q=TOKEN").text
    assert "Nothing that you see" in Browser(service, "new@example.com").open("/search?q=s").text


@pytest.mark.both_engines
def test_people_tokens_and_groups_are_found_by_admins_alone(service, admin):
    service.grant("zoe@example.com", "reader", "shop")
    service.identity_id("zoe-bot", "service")
    service.group("zoe-team")
    service.grant(ADA, "admin", "shop/dev")
    found = results(Browser(service, ADA).open("/search?q=ZOE"))["People, tokens and groups"]
    assert [path.split("/")[1] for path in found] == ["identities", "identities", "groups"]
    page = Browser(service, "zoe@example.com").open("/search?q=zoe")
    assert "People" not in page.html.main.text


@pytest.mark.parametrize("text", ["x" * 257, "a%00b"])
def test_what_cannot_be_searched_for_is_refused_and_kept(service, admin, text):
    page = Browser(service).open(f"/search?q={text}", 422)
    assert page.html.find(role="alert")
    assert len(page.html.find(id="hero")["value"]) in (257, 3)


def test_an_empty_search_says_what_can_be_searched(service, admin):
    page = Browser(service).open("/search")
    assert "Values are never searched" in page.html.main.text


def test_names_and_what_is_searched_for_are_shown_as_text(service, admin):
    admin.post("/projects", {"slug": "evil", "name": EVIL, "description": EVIL}, 201)
    admin.post("/projects/evil/environments", {"slug": "evil", "name": EVIL}, 201)
    browser = Browser(service)
    for page in (browser.open("/"), browser.open("/search", params={"q": "alert(1)"})):
        assert EVIL in page.html.text
        assert all(script["src"].startswith("/static/") for script in page.html.find_all("script"))
    page = browser.open("/search", params={"q": EVIL})
    assert page.html.find(id="hero")["value"] == EVIL


@pytest.mark.slow
@pytest.mark.both_engines
@pytest.mark.parametrize("count", [1, 90])
def test_the_page_takes_as_many_statements_however_much_there_is(make_service, count):
    service = make_service(LAST_SEEN_RESOLUTION="3600000")
    admin = arrange(service)
    Vault(admin).batch(set={f"KEY_{number}": "x" for number in range(count)})
    projects = [
        {"id": new_id(), "slug": f"p-{number:03}", "name": "P", "created_at": 1, "updated_at": 1}
        for number in range(count)
    ]
    service.execute(insert(project), projects)
    environments = [
        {**one, "id": new_id(), "project_id": one["id"], "slug": "prod", "rev": 0} for one in projects
    ]
    service.execute(insert(environment), environments)
    service.grant(ADA, "admin", "shop")
    service.grant("reader@example.com", "reader")
    for subject, path, expected in (
        # Each beside that of authentication: projects; unreadable and missing; grants, turned away; the ring;
        # two of recent activity, and for admins of projects what these may audit, twice; and what one used.
        ("root@example.com", "/", 11),
        (ADA, "/", 11),
        ("reader@example.com", "/", 3),
        ("reader@example.com", "/search?q=p", 2),
        ("root@example.com", "/search?q=p", 3),
    ):
        browser = Browser(service, subject)
        browser.open(path)
        with recorded(service.engine) as statements:
            browser.open(path)
        assert len(statements) == expected, (subject, path)


@pytest.fixture
def with_tokens(make_service):
    """A service with tokens that end in so many days, by name."""
    service = make_service(SERVICE_TOKENS="on")
    admin = arrange(service)
    path = f"/identities/{service.identity_id('deploy.robot', 'service')}/tokens"
    for name, days in (("later", 15), ("second", 13), ("first", 1)):
        admin.post(path, {"name": name, "expires_at": now_ms() + days * DAY}, 201)
    return service


@pytest.mark.both_engines
def test_service_tokens_that_end_within_14_days_need_attention_the_first_first(with_tokens):
    told = waiting(Browser(with_tokens).open("/"))
    assert "2 service tokens end within 14 days first of deploy.robot " in told
    assert told.index("first of") < told.index("second of")
    assert "later" not in told


@pytest.mark.slow
@pytest.mark.both_engines
def test_service_tokens_need_global_admins_alone_and_only_while_they_are_on(with_tokens):
    with_tokens.grant(ADA, "admin", "shop")
    assert "service token" not in waiting(Browser(with_tokens, ADA).open("/"))
    for value in ("off", "malformed"):
        other = with_tokens.restarted(SERVICE_TOKENS=value)
        assert "service token" not in waiting(Browser(other).open("/"))
