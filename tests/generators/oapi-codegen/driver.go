// The calls of ../calls.json by oapi-codegen's client: what each gave, as one JSON object.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
)

func must[T any](answer *T, err error) *T {
	if err != nil {
		panic(err)
	}
	return answer
}

func main() {
	ctx := context.Background()
	token := func(_ context.Context, request *http.Request) error {
		request.Header.Set("Authorization", "Bearer "+os.Args[2])
		return nil
	}
	client := must(NewClientWithResponses(os.Args[1], WithRequestEditorFn(token)))
	found := map[string]any{}

	found["health"] = must(client.HealthWithResponse(ctx)).JSON200.Status

	me := must(client.WhoAmIWithResponse(ctx)).JSON200
	found["whoAmI"] = []any{me.Identity.Subject, me.GlobalRole}

	project := must(client.CreateProjectWithResponse(ctx, CreateProjectBody{Slug: "shop", Name: "Shop"})).JSON201
	found["createProject"] = []any{project.Slug, project.Description}

	must(client.CreateEnvironmentWithResponse(ctx, "shop", CreateEnvironmentBody{Slug: "dev", Name: "Dev"}))
	created := must(client.CreateEnvironmentWithResponse(ctx, "shop", CreateEnvironmentBody{Slug: "prod", Name: "Prod"})).JSON201
	found["createEnvironment"] = []any{created.Slug, created.Rev, created.Protected}

	unwritten := `"0"`
	values := map[string]string{"API_KEY": `it's "quoted"`, "DB_URL": "postgres://db", "TOKEN": "t"}
	written := must(client.BatchSecretsWithResponse(
		ctx, "shop", "prod", &BatchSecretsParams{IfMatch: &unwritten}, BatchBody{Mode: Merge, Set: &values},
	)).JSON200
	batch := []any{written.Rev}
	for _, one := range written.Changes {
		batch = append(batch, fmt.Sprintf("%s %s %d", one.Key, one.Kind, *one.Version))
	}
	found["batchSecrets"] = batch

	listed := must(client.ListSecretsWithResponse(ctx, "shop", "prod", nil)).JSON200
	list := []any{listed.Rev}
	for _, one := range listed.Items {
		list = append(list, one.Key)
	}
	found["listSecrets"] = list

	run := GetSecretParamsReasonRun
	found["getSecret"] = must(
		client.GetSecretWithResponse(ctx, "shop", "prod", "API_KEY", &GetSecretParams{Reason: &run}),
	).JSON200.Value

	exported := must(client.ExportSecretsWithResponse(ctx, "shop", "prod", nil)).JSON200
	found["exportSecrets"] = []any{exported.Secrets["DB_URL"], len(exported.Secrets)}

	versions := must(client.ListSecretVersionsWithResponse(ctx, "shop", "prod", "TOKEN")).JSON200
	found["listSecretVersions"] = []any{versions.Key, versions.Items[0].Version, versions.Items[0].Deleted}

	shop, dev := "shop", "dev"
	compared := must(client.CompareSecretsWithResponse(
		ctx, "shop", "prod", &CompareSecretsParams{Project: &shop, Environment: &dev},
	)).JSON200
	differences := []any{}
	for _, one := range compared.Items {
		differences = append(differences, fmt.Sprintf("%s %s", one.Key, one.Kind))
	}
	found["compareSecrets"] = differences

	keys, dry := []SecretKey{"DB_URL"}, true
	copied := must(client.CopySecretsWithResponse(ctx, "shop", "dev", nil, CopyBody{
		From: CopySource{Project: "shop", Environment: "prod"}, Keys: &keys, DryRun: &dry,
	})).JSON200
	copies := []any{copied.DryRun}
	for _, one := range copied.Changes {
		copies = append(copies, fmt.Sprintf("%s %s", one.Key, one.Kind))
	}
	found["copySecrets"] = copies

	body := CreateGrantBody{}
	if err := body.FromProjectGrant(ProjectGrant{Project: "shop", IdentityId: me.Identity.Id, Role: Reader}); err != nil {
		panic(err)
	}
	granted := must(client.CreateGrantWithResponse(ctx, body)).JSON201
	found["createGrant"] = []any{granted.ScopeType, granted.Project, granted.Environment, granted.Role}

	two, success := 2, ReadAuditParamsOutcomeSuccess
	records := must(client.ReadAuditWithResponse(ctx, &ReadAuditParams{Limit: &two, Outcome: &success})).JSON200
	newest := records.Items[0]
	found["readAudit"] = []any{len(records.Items), records.NextCursor != nil, newest.Action, newest.Actor.Subject}

	unknown := must(client.GetSecretWithResponse(ctx, "shop", "prod", "NONE", nil))
	found["unknown"] = []any{unknown.StatusCode(), unknown.JSON404.Code}

	if err := json.NewEncoder(os.Stdout).Encode(found); err != nil {
		panic(err)
	}
}
