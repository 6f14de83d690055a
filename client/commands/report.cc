#include "client/commands/report.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <tuple>
#include <utility>

#include "client/cli/values.h"
#include "client/commands/common/fleet_reports.h"
#include "client/commands/common/profile_report.h"
#include "client/profile/report/report_table.h"

namespace profd::client {
namespace {

constexpr std::size_t kMostRows = 1'000'000;
constexpr double kMostPercent = 100;

struct UnitName {
  std::string_view name;
  ReportUnit unit;
};
constexpr std::array kUnits{UnitName{"share", ReportUnit::kShare},
                            UnitName{"time", ReportUnit::kTime},
                            UnitName{"threads", ReportUnit::kThreads}};

std::vector<std::string> UnitNames() {
  std::vector<std::string> names;
  names.reserve(kUnits.size());
  for (const UnitName& unit : kUnits) names.emplace_back(unit.name);
  return names;
}

Result<std::size_t> ParseCount(const char* option, const std::string& text) {
  std::size_t count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error == std::errc{} && end == text.data() + text.size() && count > 0 && count <= kMostRows)
    return count;
  return Usage(std::string(option) + " " + text + ": not a number of rows or levels",
               "it is from 1 to " + std::to_string(kMostRows));
}

std::string KeyHelp() {
  std::string help;
  for (const ReportKey& key : ReportKeys())
    help += (help.empty() ? "" : ". ") + std::string(key.name) + ": " + std::string(key.help);
  return help + ". label:NAME: what threads publish about their work, as deploy/labels does.";
}

}  // namespace

ReportVerb::ReportVerb()
    : AnySourceVerb(
          {.name = "report",
           .usage = "profctl report FILE.json [--by KEY[,KEY]] [-o FILE]... [OPTIONS]\n"
                    "       profctl report PID|TARGET [-d TIME] [--by KEY[,KEY]] [OPTIONS]\n"
                    "       profctl report TARGET [-d TIME] [OPTIONS] -- COMMAND [ARGUMENT]...\n"
                    "       profctl report 2h..1h|--since SPAN|--from TIME [WHO]... [OPTIONS]\n"
                    "       profctl report --fleet URL --service NAME [--by KEY[,KEY]] [OPTIONS]",
           .summary = "answer questions from one profile: time by function, thread, wait ...",
           .about = "Reads a json file of collect, collects for 10 s, or takes a range of the "
                    "history, and sums up its time by one key, or by two: the values of the "
                    "second one become columns. Rows add up to the time of all threads.",
           .footer = "Examples:\n"
                     "  profctl report 1234\n"
                     "  profctl report out.json --by function --filter 'state = blocked'\n"
                     "  profctl report out.json --by package,state -o packages.csv\n"
                     "  profctl report 1234 --counters --by function\n"
                     "  profctl report out.json --tree\n"
                     "  profctl report out.json --callers malloc --callees malloc\n"
                     "  profctl report out.json --annotate train.py\n"
                     "  profctl report $(pgrep -f train.py) --steps\n"
                     "  profctl report 1234 --steps --step uprobe:libtrain.so:begin_step\n"
                     "  profctl report out.json --filter 'step = 12' --by function\n"
                     "  profctl report $(pgrep -f train.py) --exact\n"
                     "  profctl report 2h..1h --by wait --unit nginx\n"
                     "  profctl report --fleet clickhouse://HOST/profd --service cart --by host\n"
                     "  profctl report --fleet --service cart --outliers"}) {
  AddSource();
  AddQuestion();
  AddTrees();
  AddSteps();
  AddOutputFiles(command(), source().files,
                 "write to FILE: .csv, .json or .txt; may be given again for more files; - is "
                 "standard output");
  AddFormat(command(), source().format, ProfileReportFormats(),
            "csv and json have all rows, with times in ns.");
  AddNames(command(), raw_.names);
  AddNoProgress(command(), source().no_progress);
}

void ReportVerb::AddQuestion() {
  command().Add({.group = kReportGroup,
                 .names = "--by",
                 .into = &raw_.by,
                 .value = "KEY[,KEY]",
                 .help = "what rows are, and columns: " + OneOf(ReportKeyNames()) +
                         " or label:NAME; default function",
                 .more = KeyHelp(),
                 .words = ReportKeyNames()});
  AddFilter(command(), kReportGroup, raw_.filter);
  command().Add({.group = kReportGroup,
                 .names = "--sort",
                 .into = &raw_.sort,
                 .value = "COLUMN",
                 .help = "self, total, time, running, a state, samples or name; with --counters "
                         "cycles, instructions or misses, too",
                 .more = "By default it is self, or time where rows are no frames. With total, "
                         "states are those of total."});
  command().Add({.group = kReportGroup,
                 .names = "--limit",
                 .into = &raw_.limit,
                 .value = "N",
                 .help = "rows at most, the others in one; default 20 in a table, -v shows all; of "
                         "trees the least share of a line, default 1%"});
  command().Add({.group = kReportGroup,
                 .names = "--in",
                 .into = &raw_.unit,
                 .value = "UNIT",
                 .help = "of tables: " + OneOf(UnitNames()) + "; default share",
                 .words = UnitNames()});
  AddCounters(command(), source().sampling);
  command().Add({.group = kReportGroup,
                 .names = "--kernel",
                 .into = &raw_.kernel,
                 .help = "functions of the kernel are rows, too, not part of what called them"});
}

void ReportVerb::AddTrees() {
  command().Add({.group = kReportGroup,
                 .names = "--outliers",
                 .into = &raw_.outliers,
                 .help = "of a fleet: hosts that differ from the others, and in what functions",
                 .more = "Shares of the time of a host's threads are compared with the median of "
                         "all hosts. One is named where it is further away than median distances "
                         "and sampling explain: in 95 of 100 fleets of equal hosts none is. Fewer "
                         "than five hosts are not compared, and differences below one "
                         "percent of the time are left out."});
  command().Add({.group = kReportGroup,
                 .names = "--callers",
                 .into = &raw_.callers,
                 .value = "FUNCTION",
                 .help = "who calls FUNCTION, as a tree, in the place of a table",
                 .more = "A recursion counts once: callers are those of the outermost frame of "
                         "FUNCTION in a stack, callees those of the innermost one."});
  command().Add({.group = kReportGroup,
                 .names = "--callees",
                 .into = &raw_.callees,
                 .value = "FUNCTION",
                 .help = "what FUNCTION calls, as a tree"});
  command().Add({.group = kReportGroup,
                 .names = "--tree",
                 .into = &raw_.tree,
                 .help = "the whole program as a tree, each of its libraries folded into a line"});
  command().Add({.group = kReportGroup,
                 .names = "--timeline",
                 .into = &raw_.timeline,
                 .help = "with --tree: by thread and in order of time, calls not merged"});
  command().Add({.group = kReportGroup,
                 .names = "--depth",
                 .into = &raw_.depth,
                 .value = "N",
                 .help = "levels of trees; default all"});
  command().Add({.group = kReportGroup,
                 .names = "--annotate",
                 .into = &raw_.annotate,
                 .value = "WHAT",
                 .help = "the lines of a source file or Python function, or the instructions of a "
                         "native function, with their time",
                 .more = "The file is read where the profile says that it is. Instructions need "
                         "objdump."});
}

void ReportVerb::AddSteps() {
  command().Add({.group = kReportGroup,
                 .names = "--steps",
                 .into = &raw_.steps,
                 .help = "the steps of a training loop: how long they take, where their time goes, "
                         "by line and phase, and which were slow",
                 .more =
                     "Of PyTorch a step lasts from the end of one call of the optimizer to that "
                     "of the next: exact, and with the time that it waits for data. --step names "
                     "another source. Where threads publish a label `step`, each value of it is "
                     "one. Else the loop of a Python program is found in samples: it "
                     "is the outermost function whose line falls back again and "
                     "again. With fewer than ten samples a step, steps are missed, and what "
                     "is said of single ones has a ~; a higher -F helps."});
  AddStep(command(), source().sampling);
  command().Add({.group = kReportGroup,
                 .names = "--step-name",
                 .into = &raw_.step_name,
                 .value = "NAME",
                 .help = "of steps: what ends one: a name of the program's own, as in "
                         "record_function(NAME); default the optimizer"});
  command().Add({.group = kReportGroup,
                 .names = "--loop",
                 .into = &raw_.loop,
                 .value = "FUNCTION",
                 .help = "of steps: the function with the loop"});
  command().Add({.group = kReportGroup,
                 .names = "--exact",
                 .into = &raw_.exact,
                 .help = "calls that the program itself names: how many, and their exact time",
                 .more = "Of PyTorch: record_function(NAME), its optimizers and data loaders. Of "
                         "PaddlePaddle: RecordEvent(NAME), its operators. A collection takes "
                         "--step calls where no other one is named. Samples do not count calls, so "
                         "no other report has their number."});
}

Result<ReportQuestion> ReportVerb::TakeQuestion() const {
  ReportQuestion question;
  if (!raw_.filter.empty()) {
    auto filter = SampleFilter::Parse(raw_.filter);
    if (!filter) return filter.error();
    question.filter = *std::move(filter);
  }
  if (!raw_.unit.empty()) {
    const auto* unit = std::ranges::find(kUnits, raw_.unit, &UnitName::name);
    if (unit == kUnits.end())
      return Usage("--in " + raw_.unit + ": no such unit", "it is " + OneOf(UnitNames()));
    question.unit = unit->unit;
  }
  question.kernel = raw_.kernel;
  question.counters = source().sampling.counters;
  PROFD_TRY(TakeForm(question));
  PROFD_TRY(TakeSteps(question));
  return question;
}

Result<void> ReportVerb::TakeForm(ReportQuestion& question) const {
  const bool sides = !raw_.callers.empty() || !raw_.callees.empty();
  const bool annotation = !raw_.annotate.empty();
  const bool fixed = annotation || raw_.steps || raw_.exact;  // neither a table nor a tree
  if (static_cast<int>(!raw_.by.empty()) + static_cast<int>(sides) + static_cast<int>(raw_.tree) +
          static_cast<int>(annotation) + static_cast<int>(raw_.steps) +
          static_cast<int>(raw_.exact) >
      1)
    return Usage(
        "--by, --callers with --callees, --tree, --annotate, --steps and --exact are different "
        "reports",
        "name one of them");
  if (raw_.timeline && !raw_.tree)
    return Usage("--timeline is for --tree", "name that, too, or leave it out");
  const bool of_tree = sides || raw_.tree;
  if (!raw_.depth.empty() && !of_tree)
    return Usage("--depth is for trees", "that is --callers, --callees or --tree");
  if (!raw_.sort.empty() && (of_tree || fixed))
    return Usage("--sort is for tables by one key", "leave it out");
  if (!raw_.limit.empty() && fixed) return Usage("--limit is for tables and trees", "leave it out");
  if (!raw_.filter.empty() && raw_.exact)
    return Usage("--filter is for samples, and --exact for calls", "leave one of them out");
  question.callers = raw_.callers;
  question.callees = raw_.callees;
  question.tree = raw_.tree;
  question.timeline = raw_.timeline;
  question.annotate = raw_.annotate;
  question.steps = raw_.steps;
  question.exact = raw_.exact;
  if (question.counters && (of_tree || fixed))
    return Usage("--counters is for tables by one key", "leave it out");
  if (fixed) return {};
  return of_tree ? TakeTree(question) : TakeTable(question);
}

Result<void> ReportVerb::TakeSteps(ReportQuestion& question) const {
  const std::string& step = source().sampling.step;
  const bool steps = question.NeedsSteps() || question.ShowsStepsIfAny();
  const bool watched = steps || question.exact;  // what --step names
  for (const auto& [option, value, fits] : {std::tuple("--loop", raw_.loop, steps),
                                            {"--step-name", raw_.step_name, steps},
                                            {"--step", step, watched}})
    if (!value.empty() && !fits)
      return Usage(std::string(option) + " is for steps",
                   "name --steps, --by step, operator or phase, or a filter by step, too, or leave "
                   "it out");
  const bool any = step == "auto" || step == "calls";
  question.step_choice = {.source = step == "none" ? "loop"
                                    : any          ? ""
                                                   : step,
                          .name = raw_.step_name,
                          .loop = raw_.loop};
  return {};
}

Result<void> ReportVerb::TakeTable(ReportQuestion& question) const {
  const auto keys = ParseReportKeys(raw_.by.empty() ? "function" : raw_.by);
  if (!keys) return keys.error();
  question.keys = *keys;
  if (question.counters && question.keys.size() == 2)
    return Usage("--counters is for tables by one key", "leave out the second one");
  if (!raw_.sort.empty()) {
    if (question.keys.size() == 2)
      return Usage("--sort is for tables by one key", "rows of two are sorted by their time");
    ReportTable none{.key = question.keys.front().get(), .rows = {}, .all = {}};
    none.counted = question.counters;
    PROFD_TRY(SortRows(none, raw_.sort));
    question.sort = raw_.sort;
  }
  if (raw_.limit.empty()) return {};
  const auto limit = ParseCount("--limit", raw_.limit);
  if (!limit) return limit.error();
  question.limit = *limit;
  return {};
}

Result<void> ReportVerb::TakeTree(ReportQuestion& question) const {
  if (!raw_.depth.empty()) {
    const auto depth = ParseCount("--depth", raw_.depth);
    if (!depth) return depth.error();
    question.depth = *depth;
  }
  if (raw_.limit.empty()) return {};
  std::string_view text = raw_.limit;
  if (text.ends_with('%')) text.remove_suffix(1);
  double percent = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), percent);
  if (error != std::errc{} || end != text.data() + text.size() ||
      !(percent >= 0 && percent <= kMostPercent))
    return Usage("--limit " + raw_.limit + ": not a share of the time",
                 "in trees it is the least share of a line, as in 1%");
  question.least_share = percent / kMostPercent;
  return {};
}

Result<void> ReportVerb::Take() {
  OutputOptions output;
  output.report = Report::kReport;
  output.names = raw_.names;
  auto question = TakeQuestion();
  if (!question) return question.error();
  output.question = *std::move(question);
  if (raw_.exact && source().sampling.step.empty()) source().sampling.step = "calls";
  if (raw_.outliers && !source().fleet.requested())
    return Usage("--outliers is for fleets", "--fleet names one");
  if (raw_.outliers && (!raw_.by.empty() || !raw_.filter.empty() || !source().files.empty()))
    return Usage("--outliers goes with neither --by, nor --filter, nor -o", "leave one out");
  PROFD_TRY(TakeSource(std::move(output), "; --filter takes a part of a file or a collection"));
  return source().fleet.requested() ? TakeApart() : Result<void>();
}

Result<void> ReportVerb::TakeApart() {
  QueryOptions options = std::get<QueryOptions>(this->options());
  for (const ReportKeyRef& key : options.output.question.keys)
    if (const auto named = FleetKeyNamed(key->name); named)
      options.fleet->question.apart.push_back(*named);
  SetOptions(std::move(options));
  return {};
}

int ReportVerb::Run(const Context& context) {
  if (!raw_.outliers) return AnySourceVerb::Run(context);
  const auto& options = std::get<QueryOptions>(this->options());
  return RunFleetOutliers({*options.fleet, source().format == "json"}, context);
}

}  // namespace profd::client
