#include "client/commands/fleet/fleet.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "client/cli/values.h"
#include "client/fleet/fleet_password.h"
#include "client/fleet/fleet_tls.h"
#include "client/system/exit_code.h"
#include "client/system/output_file.h"
#include "daemon/base/http/http_client.h"

namespace profd::client {
namespace {

Result<void> CheckName(std::string_view option, const std::string& value) {
  if (value.empty() || IsClickHouseName(value)) return {};
  return Usage(std::string(option) + " '" + value + "' is no name",
               "it has letters, digits and one of _-.");
}

}  // namespace

FleetVerb::FleetVerb()
    : Verb({.name = "fleet",
            .usage = "profctl fleet init --to clickhouse://... [--fleet-password-from FILE]\n"
                     "       profctl fleet schema [--cluster NAME]\n"
                     "       profctl fleet grant --agent NAME|--reader NAME [--cluster NAME]",
            .summary = "make the tables in which a fleet's hosts keep their profiles",
            .about = "init creates the tables in ClickHouse, or brings them up to date; it can be "
                     "called again. schema prints its SQL, and grant that of users who may only "
                     "add rows, as profd does, or only read them.",
            .footer = "Examples:\n"
                      "  profctl fleet init --to clickhouse://admin@db.example/profd\n"
                      "  profctl fleet schema --cluster main | less\n"
                      "  profctl fleet grant --agent profd --reader grafana"}) {
  command().Add({.names = "ACTION", .into = &raw_.action, .words = {"init", "schema", "grant"}});
  command().Add(
      {.group = kWhatGroup,
       .names = "--to",
       .into = &raw_.to,
       .value = "ADDRESS",
       .help = "clickhouse://[USER@]HOST[:PORT]/DATABASE",
       .more = "clickhouses:// by TLS, with --tls-ca, --tls-cert and --tls-key or "
               "PROFD_FLEET_TLS_CA, PROFD_FLEET_TLS_CERT and PROFD_FLEET_TLS_KEY; ?cluster=NAME "
               "behind it is as --cluster. The "
               "password comes from the variable "
               "PROFD_FLEET_PASSWORD or from --fleet-password-from. schema and grant take its "
               "database and cluster, and connect to nothing."});
  command().Add({.group = kWhatGroup,
                 .names = "--cluster",
                 .into = &raw_.cluster,
                 .value = "NAME",
                 .help = "of several servers, as ClickHouse knows it"});
  command().Add({.group = kWhatGroup,
                 .names = "--agent",
                 .into = &raw_.agent,
                 .value = "NAME",
                 .help = "of grant: a user that may add rows"});
  command().Add({.group = kWhatGroup,
                 .names = "--reader",
                 .into = &raw_.reader,
                 .value = "NAME",
                 .help = "of grant: a user that may read all tables"});
  command().Add({.group = kOtherGroup,
                 .names = "--fleet-password-from",
                 .into = &raw_.password_from,
                 .value = "FILE",
                 .help = "file whose first line is the password",
                 .offer = Offer::kFiles});
}

Result<void> FleetVerb::TakePlace() {
  if (!raw_.to.empty()) {
    auto address = ParseClickHouseAddress(raw_.to);
    if (!address) return address.error();
    access_.address = *std::move(address);
  }
  PROFD_TRY(CheckName("--cluster", raw_.cluster));
  if (!raw_.cluster.empty()) access_.address.cluster = raw_.cluster;
  return {};
}

Result<void> FleetVerb::Take() {
  if (raw_.action.empty())
    return Usage("no action is named", "write profctl fleet init, schema or grant");
  if (raw_.action == "schema")
    action_ = Action::kSchema;
  else if (raw_.action == "grant")
    action_ = Action::kGrant;
  else if (raw_.action != "init")
    return Usage("'" + raw_.action + "' is no action", "it is one of init, schema and grant");
  PROFD_TRY(TakePlace());
  if (action_ == Action::kInit && raw_.to.empty())
    return Usage("init needs a server", "name it: --to clickhouse://HOST/DATABASE");
  if (action_ != Action::kGrant && !(raw_.agent + raw_.reader).empty())
    return Usage("--agent and --reader are of grant", "write profctl fleet grant");
  if (action_ == Action::kGrant && (raw_.agent + raw_.reader).empty())
    return Usage("grant needs a user", "name one: --agent NAME, --reader NAME or both");
  PROFD_TRY(CheckName("--agent", raw_.agent));
  PROFD_TRY(CheckName("--reader", raw_.reader));
  grants_ = {{access_.address.database, access_.address.cluster}, raw_.agent, raw_.reader};
  return {};
}

Result<std::string> FleetVerb::Init(const TlsFiles& named) {
  auto password = FleetPassword(raw_.password_from);
  if (!password) return password.error();
  access_.password = *std::move(password);
  auto tls = FleetTlsFiles(named, access_.address);
  if (!tls) return tls.error();
  access_.tls = *std::move(tls);
  HttpClient::PrepareProcess();
  const auto result = SetUpSchema(access_);
  if (!result) return result.error();
  const std::string tables = "the tables of version " + std::to_string(result->now) + " in " +
                             access_.address.database + " at " + access_.address.url;
  if (result->before == 0) return "made " + tables;
  if (result->before == result->now) return tables + " are there";
  return "brought up to " + tables;
}

int FleetVerb::Run(const Context& context) {
  const auto print = [&context](const std::string& text) {
    const auto written = WriteToStdout(text);
    if (!written && !written.error().message.empty()) context.console.Fail(written.error());
    return ToInt(written ? ExitCode::kOk : ExitCode::kFailure);
  };
  if (action_ == Action::kSchema) return print(SchemaText(grants_.place));
  if (action_ == Action::kGrant) return print(GrantText(grants_));
  const auto said = Init(context.global.host.tls);
  if (said) {
    context.console.Say(*said);
    return ToInt(ExitCode::kOk);
  }
  context.console.Fail(said.error());
  return ToInt(ExitCodeOf(said.error().code));
}

}  // namespace profd::client
