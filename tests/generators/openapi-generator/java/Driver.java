import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.openapitools.client.ApiClient;
import org.openapitools.client.ApiException;
import org.openapitools.client.api.AccessApi;
import org.openapitools.client.api.AuditlogApi;
import org.openapitools.client.api.IdentityApi;
import org.openapitools.client.api.MetaApi;
import org.openapitools.client.api.ProjectsApi;
import org.openapitools.client.api.SecretsApi;
import org.openapitools.client.model.*;

/** The calls of ../../calls.json by openapi-generator's client: what each gave, as one JSON object. */
class Driver {
  public static void main(String[] arguments) throws Exception {
    ApiClient client = new ApiClient();
    client.updateBaseUri(arguments[0]);
    client.setRequestInterceptor(request -> request.header("Authorization", "Bearer " + arguments[1]));
    ProjectsApi projects = new ProjectsApi(client);
    SecretsApi secrets = new SecretsApi(client);
    Map<String, Object> found = new LinkedHashMap<>();

    found.put("health", new MetaApi(client).health().getStatus());

    WhoAmI me = new IdentityApi(client).whoAmI();
    found.put("whoAmI", List.of(me.getIdentity().getSubject(), me.getGlobalRole()));

    Project project = projects.createProject(new CreateProjectBody().slug("shop").name("Shop"));
    found.put("createProject", Arrays.asList(project.getSlug(), project.getDescription()));

    projects.createEnvironment("shop", new CreateEnvironmentBody().slug("dev").name("Dev"));
    Environment created =
        projects.createEnvironment("shop", new CreateEnvironmentBody().slug("prod").name("Prod"));
    found.put("createEnvironment", List.of(created.getSlug(), created.getRev(), created.getProtected()));

    Map<String, String> values =
        Map.of("API_KEY", "it's \"quoted\"", "DB_URL", "postgres://db", "TOKEN", "t");
    WriteResult written =
        secrets.batchSecrets("shop", "prod", new BatchBody().mode(Mode.MERGE).set(values), "\"0\"", null);
    List<Object> changes = new ArrayList<>(List.of(written.getRev()));
    for (WriteChange one : written.getChanges()) {
      changes.add(one.getKey() + " " + one.getKind() + " " + one.getVersion());
    }
    found.put("batchSecrets", changes);

    SecretList listed = secrets.listSecrets("shop", "prod", null, null);
    List<Object> list = new ArrayList<>(List.of(listed.getRev()));
    listed.getItems().forEach(item -> list.add(item.getKey()));
    found.put("listSecrets", list);

    found.put("getSecret", secrets.getSecret("shop", "prod", "API_KEY", "run", null, null).getValue());

    Map<String, String> exported =
        secrets.exportSecrets("shop", "prod", null, null, null, null, null).getSecrets();
    found.put("exportSecrets", List.of(exported.get("DB_URL"), exported.size()));

    SecretVersions versions = secrets.listSecretVersions("shop", "prod", "TOKEN");
    SecretVersion newest = versions.getItems().get(0);
    found.put("listSecretVersions", List.of(versions.getKey(), newest.getVersion(), newest.getDeleted()));

    List<String> differences = new ArrayList<>();
    for (Compared one : secrets.compareSecrets("shop", "prod", "shop", "dev", null, null).getItems()) {
      differences.add(one.getKey() + " " + one.getKind());
    }
    found.put("compareSecrets", differences);

    CopySource source = new CopySource().project("shop").environment("prod");
    WriteResult copied =
        secrets.copySecrets("shop", "dev", new CopyBody().from(source).addKeysItem("DB_URL").dryRun(true), null);
    List<Object> copies = new ArrayList<>(List.of(copied.getDryRun()));
    copied.getChanges().forEach(one -> copies.add(one.getKey() + " " + one.getKind()));
    found.put("copySecrets", copies);

    ProjectGrant terms =
        new ProjectGrant()
            .scopeType(ProjectGrant.ScopeTypeEnum.PROJECT)
            .project("shop")
            .identityId(me.getIdentity().getId())
            .role(Role.READER);
    Grant granted = new AccessApi(client).createGrant(new CreateGrantBody(terms));
    found.put(
        "createGrant",
        Arrays.asList(
            granted.getScopeType(), granted.getProject(), granted.getEnvironment(), granted.getRole()));

    AuditPage page =
        new AuditlogApi(client)
            .readAudit(null, null, null, null, null, "success", null, null, null, 2, null);
    AuditRecord last = page.getItems().get(0);
    found.put(
        "readAudit",
        List.of(
            page.getItems().size(),
            page.getNextCursor() != null,
            last.getAction(),
            last.getActor().getSubject()));

    try {
      secrets.getSecret("shop", "prod", "NONE", null, null, null);
    } catch (ApiException refused) {
      String code = client.getObjectMapper().readTree(refused.getResponseBody()).get("code").asText();
      found.put("unknown", List.of(refused.getCode(), code));
    }
    System.out.println(new ObjectMapper().writeValueAsString(found));
  }
}
