#include "client/format/wait_dot.h"

#include <set>
#include <sstream>

#include "client/profile/profile_facts.h"
#include "client/profile/stack_names.h"
#include "client/text/escape.h"
#include "client/text/number.h"
#include "client/text/text.h"

namespace profd::client {
namespace {

constexpr std::string_view kStyle =
    "  graph [rankdir=LR, labelloc=t, fontname=\"sans-serif\", fontsize=12, nodesep=0.35, "
    "ranksep=1.1]\n"
    "  node [shape=box, style=\"rounded,filled\", fillcolor=\"#efe6fd\", color=\"#5b21a0\", "
    "fontname=\"sans-serif\", fontsize=11]\n"
    "  edge [color=\"#2b3a8f\", fontname=\"sans-serif\", fontsize=10]\n";
constexpr double kWidest = 8;            // points
constexpr std::size_t kWidestName = 60;  // columns

std::string Id(std::uint32_t group) { return "g" + std::to_string(group); }

std::string HeadText(const v1::Profile& profile, const WaitTable& table, const WaitGraph& graph) {
  std::string text = "Who waits for whom: " + TitleOf(profile) + "\n" +
                     FormatDuration(LengthNs(profile)) + ", " +
                     FormatCount(ThreadCount(profile), "thread") + ", " +
                     FormatDuration(table.blocked_ns) + " blocked in all\n" +
                     "solid: who ends the waits, dashed: where their paths end, with shares of the "
                     "waiter's blocked time";
  if (graph.left_out_ns > 0)
    text += "\narrows of less than " + FormatShare(WaitGraph::kLeastShare) +
            " are left out: " + FormatDuration(graph.left_out_ns);
  return text;
}

std::string GroupText(const WaitGroup& group) {
  std::string text = CutMiddle(group.name, kWidestName);
  if (group.threads > 1) text += " x " + std::to_string(group.threads);
  if (group.blocked_ns > 0) text += "\n" + FormatDuration(group.blocked_ns) + " blocked";
  return text;
}

void WriteGroup(std::uint32_t group, const WaitTable& table, std::ostream& out) {
  const WaitGroup& of = table.groups[group];
  out << Id(group) << " [label=" << QuoteDot(GroupText(of));
  if (!of.is_thread)
    out << R"(, shape=ellipse, style=filled, fillcolor="#dedede", color="#5a5a5a")";
  else if (of.threads == 0)
    out << R"(, fillcolor="#ffffff")";
  out << "]\n";
}

void WriteEdge(const WaitEdge& edge, const WaitTable& table, std::ostream& out) {
  constexpr std::size_t kWords = 2;
  std::string text = FormatShare(edge.ns, table.groups[edge.from].blocked_ns);
  for (std::size_t i = 0; i < edge.words.size() && i < kWords; ++i)
    text += (i == 0 ? "\n" : ", ") + edge.words[i];
  if (edge.words.size() > kWords) text += ", ...";
  out << "  " << Id(edge.from) << " -> " << Id(edge.to) << " [label=" << QuoteDot(text)
      << ", penwidth=" << FormatDecimals(1 + (kWidest - 1) * ShareOf(edge.ns, table.blocked_ns), 2);
  if (edge.is_end) out << R"(, style=dashed, color="#7d7d7d")";
  out << "]\n";
}

}  // namespace

std::string WaitDot(const v1::Profile& profile, const WaitTable& table) {
  const WaitGraph graph = WaitGraph::Of(table);
  std::set<std::uint32_t> left;  // to be written
  for (const WaitEdge& edge : graph.edges) left.insert({edge.from, edge.to});
  std::ostringstream out;
  out << "digraph waits {\n"
      << kStyle << "  label=" << QuoteDot(HeadText(profile, table, graph)) << "\n";
  for (std::size_t i = 0; i < graph.knots.size(); ++i) {
    out << "  subgraph cluster_" << i
        << " {\n    label=\"wait for each other\"\n    color=\"#c14d08\"\n    penwidth=2\n";
    for (const std::uint32_t group : graph.knots[i]) {
      out << "    ";
      WriteGroup(group, table, out);
      left.erase(group);
    }
    out << "  }\n";
  }
  for (const std::uint32_t group : left) {
    out << "  ";
    WriteGroup(group, table, out);
  }
  for (const WaitEdge& edge : graph.edges) WriteEdge(edge, table, out);
  out << "}\n";
  return out.str();
}

}  // namespace profd::client
