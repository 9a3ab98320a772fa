// The calls of ../../calls.json by openapi-generator's client: what each gave, as one JSON object.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"

	api "generated/client"
)

func must[T any](answer *T, _ *http.Response, err error) *T {
	if err != nil {
		panic(err)
	}
	return answer
}

func main() {
	ctx := context.WithValue(context.Background(), api.ContextAccessToken, os.Args[2])
	configuration := api.NewConfiguration()
	configuration.Servers = api.ServerConfigurations{{URL: os.Args[1]}}
	client := api.NewAPIClient(configuration)
	projects, secrets := client.ProjectsAPI, client.SecretsAPI
	found := map[string]any{}

	found["health"] = must(client.MetaAPI.Health(ctx).Execute()).Status

	me := must(client.IdentityAPI.WhoAmI(ctx).Execute())
	found["whoAmI"] = []any{me.Identity.Subject, me.GlobalRole.Get()}

	project := must(projects.CreateProject(ctx).CreateProjectBody(*api.NewCreateProjectBody("shop", "Shop")).Execute())
	found["createProject"] = []any{project.Slug, project.Description.Get()}

	dev, prod := api.NewCreateEnvironmentBody("dev", "Dev"), api.NewCreateEnvironmentBody("prod", "Prod")
	must(projects.CreateEnvironment(ctx, "shop").CreateEnvironmentBody(*dev).Execute())
	created := must(projects.CreateEnvironment(ctx, "shop").CreateEnvironmentBody(*prod).Execute())
	found["createEnvironment"] = []any{created.Slug, created.Rev, created.Protected}

	batch := api.NewBatchBody(api.MERGE)
	batch.SetSet(map[string]string{"API_KEY": `it's "quoted"`, "DB_URL": "postgres://db", "TOKEN": "t"})
	written := must(secrets.BatchSecrets(ctx, "shop", "prod").BatchBody(*batch).IfMatch(`"0"`).Execute())
	changes := []any{written.Rev}
	for _, one := range written.Changes {
		changes = append(changes, fmt.Sprintf("%s %s %d", one.Key, one.Kind, *one.Version))
	}
	found["batchSecrets"] = changes

	listed := must(secrets.ListSecrets(ctx, "shop", "prod").Execute())
	list := []any{listed.Rev}
	for _, one := range listed.Items {
		list = append(list, one.Key)
	}
	found["listSecrets"] = list

	found["getSecret"] = must(secrets.GetSecret(ctx, "shop", "prod", "API_KEY").Reason("run").Execute()).Value

	exported := must(secrets.ExportSecrets(ctx, "shop", "prod").Execute())
	found["exportSecrets"] = []any{exported.Secrets["DB_URL"], len(exported.Secrets)}

	versions := must(secrets.ListSecretVersions(ctx, "shop", "prod", "TOKEN").Execute())
	found["listSecretVersions"] = []any{versions.Key, versions.Items[0].Version, versions.Items[0].Deleted}

	compared := must(secrets.CompareSecrets(ctx, "shop", "prod").Project2("shop").Environment("dev").Execute())
	differences := []any{}
	for _, one := range compared.Items {
		differences = append(differences, fmt.Sprintf("%s %s", one.Key, one.Kind))
	}
	found["compareSecrets"] = differences

	body := api.NewCopyBody(*api.NewCopySource("shop", "prod"))
	body.SetKeys([]string{"DB_URL"})
	body.SetDryRun(true)
	copied := must(secrets.CopySecrets(ctx, "shop", "dev").CopyBody(*body).Execute())
	copies := []any{copied.DryRun}
	for _, one := range copied.Changes {
		copies = append(copies, fmt.Sprintf("%s %s", one.Key, one.Kind))
	}
	found["copySecrets"] = copies

	terms := api.ProjectGrantAsCreateGrantBody(api.NewProjectGrant(api.READER, "project", "shop", me.Identity.Id))
	granted := must(client.AccessAPI.CreateGrant(ctx).CreateGrantBody(terms).Execute())
	found["createGrant"] = []any{granted.ScopeType, granted.Project.Get(), granted.Environment.Get(), granted.Role}

	records := must(client.AuditlogAPI.ReadAudit(ctx).Limit(2).Outcome("success").Execute())
	newest := records.Items[0]
	found["readAudit"] = []any{len(records.Items), records.NextCursor.Get() != nil, newest.Action, newest.Actor.Subject}

	_, answer, err := secrets.GetSecret(ctx, "shop", "prod", "NONE").Execute()
	var refused *api.GenericOpenAPIError
	if !errors.As(err, &refused) {
		panic(err)
	}
	found["unknown"] = []any{answer.StatusCode, refused.Model().(api.Error).Code}

	if err := json.NewEncoder(os.Stdout).Encode(found); err != nil {
		panic(err)
	}
}
