#include "daemon/pipeline/labelled_processes.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <map>
#include <set>
#include <span>
#include <string_view>
#include <utility>

#include "bpf/shared/limits.h"
#include "daemon/aggregate/process_labels.h"
#include "daemon/base/proc/proc_stat.h"
#include "daemon/base/utf8.h"
#include "daemon/process/cgroup_names.h"
#include "daemon/source/procfs/exclusive_owner.h"
#include "daemon/store/api/filter.h"

namespace profd::pipeline {
namespace {

constexpr std::size_t kMaxSmall = 65'536;
// So often a process is read that does not answer in time.
constexpr int kRounds = 3;
// A runtime lists its containers every two seconds at most.
constexpr std::chrono::milliseconds kRuntimes{3'000};
constexpr std::size_t kNamed = 10;
constexpr std::size_t kShownBytes = 64;

std::string ReadPart(const ProcFs& proc, const std::string& path) {
  auto text = proc.Read(path, kMaxSmall);
  return text ? *std::move(text) : std::string();
}

// The effective one of a status file's line.
std::optional<std::uint32_t> EffectiveUid(std::string_view status) {
  std::string_view uids = StatusLine(status, "Uid:");
  uids.remove_prefix(std::min(uids.find_first_not_of(" \t"), uids.size()));
  uids.remove_prefix(std::min(uids.find('\t'), uids.size()));
  uids.remove_prefix(std::min(uids.find_first_not_of('\t'), uids.size()));
  std::uint32_t uid = 0;
  const auto [end, error] = std::from_chars(uids.data(), uids.data() + uids.size(), uid);
  if (error != std::errc{}) return std::nullopt;
  return uid;
}

// In a message, which may go to a log or a terminal.
std::string Shown(std::string_view text) {
  std::string shown;
  text = text.substr(0, kShownBytes);
  while (!text.empty()) {
    const CodePoint point = TakeCodePoint(text);
    if (point.valid && !IsUnsafeToPrint(point.code))
      shown.append(point.bytes);
    else
      shown.push_back('?');
  }
  return shown;
}

// "service.name=cart, k8s.pod.name=cart-*"
std::string Words(const std::vector<std::string>& labels) {
  std::string words;
  for (const std::string& label : labels)
    words.append(words.empty() ? "" : ", ").append(Shown(label));
  return words;
}

// What there is of the first label that none of them has as wanted; "" where none has it at all.
std::string WhatThereIs(std::span<const store::Filter::Label> wanted,
                        std::span<const std::map<std::string, std::string>> labels) {
  for (const store::Filter::Label& one : wanted) {
    std::set<std::string> values;
    bool fits = false;
    for (const auto& of_process : labels) {
      fits = fits || store::MatchesLabels({&one, 1}, of_process);
      if (const auto label = of_process.find(one.name); label != of_process.end())
        values.insert(Shown(label->second));
    }
    if (fits || values.empty()) continue;
    std::string text = Shown(one.name) + " is ";
    std::size_t named = 0;
    for (const std::string& value : values) {
      if (named++ == kNamed) break;
      text.append(named == 1 ? "" : ", ").append(value);
    }
    return text.append(values.size() > kNamed ? ", ... here" : " here");
  }
  return {};
}

}  // namespace

LabelledProcesses::LabelledProcesses(Parts parts)
    : parts_(std::move(parts)), users_(parts_.passwd), texts_(parts_.readers) {}

std::vector<std::uint32_t> LabelledProcesses::Others() const {
  auto pids = parts_.proc.ListNumbers("");
  if (!pids) return {};
  if (const auto self = parts_.proc.ReadLink("self"))
    std::erase_if(*pids, [&](std::uint32_t pid) { return std::to_string(pid) == *self; });
  return *std::move(pids);
}

std::optional<LabelledProcesses::Candidate> LabelledProcesses::Read(
    std::uint32_t pid, std::optional<std::uint32_t> uid) {
  const std::string directory = std::to_string(pid);
  const std::string status = ReadPart(parts_.proc, directory + "/status");
  if (status.empty()) return std::nullopt;
  const auto sole = source::SoleOwnerOf(directory, status, parts_.proc);
  if (uid && sole != uid) return std::nullopt;
  Candidate candidate;
  process::ProcessInfo& info = candidate.info;
  info.key.pid = pid;
  info.comm = process::ParseComm(ReadPart(parts_.proc, directory + "/comm"));
  info.cgroup = process::ParseCgroup(ReadPart(parts_.proc, directory + "/cgroup"));
  info.owner.uid = EffectiveUid(status);
  info.owner.sole = sole.has_value();
  if (info.owner.uid) info.owner.user = users_.NameOf(*info.owner.uid);
  if (auto executable = parts_.proc.ReadLink(directory + "/exe"))
    info.executable = *std::move(executable);
  candidate.thread = {pid, pid, reader::UserOf(pid)};
  return candidate;
}

std::vector<LabelledProcesses::Candidate> LabelledProcesses::Candidates(
    std::optional<std::uint32_t> uid) {
  std::vector<Candidate> all;
  for (const std::uint32_t pid : Others())
    if (auto one = Read(pid, uid)) all.push_back(*std::move(one));
  std::vector<std::size_t> unread(all.size());
  for (std::size_t i = 0; i < all.size(); ++i) unread[i] = i;
  const std::scoped_lock lock(mutex_);
  for (int round = 0; round < kRounds && !unread.empty(); ++round) {
    std::vector<std::size_t> late;
    for (std::size_t from = 0; from < unread.size(); from += source::ProcessTextClient::kTogether) {
      const auto some = std::span(unread).subspan(from).first(
          std::min(unread.size() - from, source::ProcessTextClient::kTogether));
      std::vector<source::ProcessThread> threads;
      for (const std::size_t i : some) threads.push_back(all[i].thread);
      auto texts = texts_.Read(threads);
      for (std::size_t i = 0; i < some.size(); ++i) {
        if (!texts[i]) {
          late.push_back(some[i]);
          continue;
        }
        process::ProcessInfo& info = all[some[i]].info;
        info.command_line = process::ParseCommandLine(texts[i]->command_line);
        info.resource = process::ParseResource(texts[i]->resource);
      }
    }
    unread = std::move(late);
  }
  // Threads of the kernel, and what has ended.
  std::erase_if(all, [](const Candidate& one) {
    return one.info.executable.empty() && one.info.command_line.empty();
  });
  return all;
}

void LabelledProcesses::AskRuntimes(const std::vector<Candidate>& candidates) const {
  if (parts_.containers == nullptr) return;
  bool unknown = false;
  for (const Candidate& one : candidates) {
    const std::string container = process::ContainerOf(one.info.cgroup);
    unknown = unknown || (!container.empty() && !parts_.containers->Find(container));
  }
  // One that does not answer leaves what the processes say themselves.
  if (unknown) (void)parts_.containers->Await(kRuntimes);
}

Result<std::vector<std::uint32_t>> LabelledProcesses::Find(const session::Target& target) {
  const auto wanted = store::ParseLabels(target.labels);
  if (!wanted) return wanted.error();
  const std::vector<Candidate> candidates = Candidates(target.uid);
  AskRuntimes(candidates);
  std::vector<std::uint32_t> pids;
  std::vector<std::map<std::string, std::string>> labels;
  for (const Candidate& one : candidates) {
    auto process = aggregate::DescribeProcess(one.info.key, &one.info, false);
    aggregate::GiveLabels(&one.info, parts_.containers, process);
    labels.push_back(aggregate::ProcessLabels(process, parts_.host));
    if (store::MatchesLabels(*wanted, labels.back())) pids.push_back(one.info.key.pid);
  }
  if (pids.size() > PROFD_MAX_FILTER_IDS)
    return Error{ErrorCode::kExhausted,
                 std::to_string(pids.size()) + " processes have " + Words(target.labels) +
                     ": the most is " + std::to_string(PROFD_MAX_FILTER_IDS),
                 "name more labels, or collect from all"};
  if (!pids.empty()) return pids;
  const std::string there = WhatThereIs(*wanted, labels);
  return Error{ErrorCode::kNotFound,
               std::string(target.uid ? "no process of yours has " : "no process has ") +
                   Words(target.labels),
               there.empty() ? "profctl list --json shows the labels of the history" : there};
}

}  // namespace profd::pipeline
