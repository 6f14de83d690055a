#include "daemon/source/steps/step_probes.h"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <csignal>
#include <cstring>
#include <functional>
#include <utility>

#include "bpf/shared/events.h"
#include "daemon/base/proc/proc_fs.h"
#include "daemon/source/steps/executable_files.h"
#include "daemon/source/steps/step_attacher.h"

namespace profd::source {
namespace {

// A session begins without what PyTorch says if finding it takes longer ...
constexpr std::chrono::milliseconds kPatience{1'000};
// ... and not at all without what the user has named.
constexpr std::chrono::milliseconds kNamedPatience{8'000};
constexpr std::chrono::seconds kAttachPatience{3};
constexpr std::size_t kMaxJobs = 1'000;
constexpr std::size_t kMaxMembers = 10'000;
// Attachers that were killed so long ago and have not ended: the kernel waits in them. If there are
// so many, no others are made.
constexpr std::chrono::seconds kMayTakeToEnd{2};
constexpr std::ptrdiff_t kMaxHeld = 2;
constexpr std::size_t kMaxAnswerBytes = 4'096;
constexpr const char* kConfined = "only clients that see everything may watch functions";

Error NotMapped(const session::StepSpec& spec) {
  return Error{
      ErrorCode::kNotFound,
      session::FormatStepSpec(spec) + ": no process of the target has mapped " + spec.library,
      "see what it has mapped: grep r-xp /proc/PID/maps"};
}

Result<std::uint32_t> UprobeEventType() {
  const auto text = ProcFs("/sys/bus/event_source/devices/uprobe").Read("type", 64);
  std::uint32_t type = 0;
  if (text && std::from_chars(text->data(), text->data() + text->size(), type).ec == std::errc())
    return type;
  return Error{ErrorCode::kUnsupported, "the kernel has no uprobes",
               "it needs CONFIG_UPROBE_EVENTS; --step loop finds steps in samples"};
}

std::string_view MapsOf(std::span<const std::byte> process, const profd_process_event& fixed) {
  std::size_t at = sizeof(fixed);
  for (int blob = 0; blob < PROFD_BLOB_MAPS; ++blob) at += fixed.blob_bytes[blob];
  const std::size_t bytes = fixed.blob_bytes[PROFD_BLOB_MAPS];
  if (at > process.size() || bytes > process.size() - at) return {};
  return {reinterpret_cast<const char*>(process.data()) + at, bytes};
}

// Not named by the user: watched where it is.
bool IsAuto(const session::StepSpec& spec) {
  return spec.kind == session::StepSpec::Kind::kRecordFunction ||
         spec.kind == session::StepSpec::Kind::kRecordEvent;
}

}  // namespace

StepProbes::~StepProbes() {
  if (!worker_.joinable()) return;
  worker_.request_stop();
  worker_.join();
}

Result<void> StepProbes::CheckSpec(const session::SessionSpec& spec) {
  if (!spec.target.uid || std::ranges::all_of(spec.steps, &IsAuto)) return {};
  return Error{ErrorCode::kPermissionDenied, kConfined,
               "use sudo, or become a member of group profd; --step loop finds steps in samples"};
}

Result<void> StepProbes::Start(std::uint32_t session, const session::SessionSpec& spec,
                               std::span<const wire::EventBytes> processes) {
  if (spec.steps.empty() || !tools_.find) return {};
  std::unique_lock lock(mutex_);
  auto watch = std::make_shared<Watch>();
  watch->session = session;
  watch->specs = spec.steps;
  watch->jobs.resize(spec.steps.size());
  watch->attached.resize(spec.steps.size());
  watch->errors.resize(spec.steps.size());
  watches_[session] = watch;
  if (!worker_.joinable()) worker_ = std::jthread([this](const std::stop_token& s) { Work(s); });
  for (const wire::EventBytes& process : processes) {
    profd_process_event fixed{};
    if (!wire::ReadFixed(process, &fixed)) continue;
    if (watch->members.size() < kMaxMembers) watch->members.insert(fixed.event.pid);
    for (const ExecutableFile& file : ExecutableFilesOf(fixed.event.pid, MapsOf(process, fixed))) {
      if (!spec.target.uid) {
        AddFile(watch, file);
      } else {
        for (std::size_t i = 0; i < spec.steps.size(); ++i)
          if (session::IsLibraryOf(spec.steps[i], file.path))
            Say(*watch, i, PROFD_STEP_SOURCE_NAMES, kConfined);
      }
    }
  }
  if (spec.target.uid) return {};
  active_ = watches_.size();
  return Await(lock, *watch, spec);
}

Result<void> StepProbes::Await(std::unique_lock<std::mutex>& lock, Watch& watch,
                               const session::SessionSpec& spec) {
  const auto is_done = [&] {
    return std::ranges::all_of(watch.jobs, [](std::size_t jobs) { return jobs == 0; });
  };
  const bool named = std::ranges::any_of(watch.specs, std::not_fn(&IsAuto));
  const bool done = changed_.wait_for(lock, named ? kNamedPatience : kPatience, is_done);
  for (std::size_t i = 0; i < watch.specs.size(); ++i) {
    if (IsAuto(watch.specs[i]) || watch.attached[i] != 0) continue;
    if (!done && watch.jobs[i] != 0)
      return Error{ErrorCode::kUnavailable,
                   session::FormatStepSpec(watch.specs[i]) + ": cannot be found in time",
                   "try again"};
    if (!watch.errors[i].message.empty())
      return watch.errors[i].Wrap(session::FormatStepSpec(watch.specs[i]));
    if (!spec.target.children) return NotMapped(watch.specs[i]);
  }
  return {};
}

void StepProbes::Announce(std::uint32_t session) {
  const std::scoped_lock lock(mutex_);
  const auto found = watches_.find(session);
  if (found == watches_.end()) return;
  Watch& watch = *found->second;
  watch.announced = true;
  const std::uint64_t now_ns = parts_.clock.MonotonicNs();
  for (wire::EventBytes& event : watch.said) {
    profd_event header{};
    if (!wire::ReadHeader(event, &header)) continue;
    header.time_ns = now_ns;
    std::memcpy(event.data(), &header, sizeof(header));
  }
  parts_.put(std::exchange(watch.said, {}));
}

void StepProbes::Stop(std::uint32_t session) {
  const std::scoped_lock lock(mutex_);
  const auto found = watches_.find(session);
  if (found == watches_.end()) return;
  found->second->stopped = true;
  std::erase_if(jobs_, [&](const Job& job) { return job.watch == found->second; });
  // The worker kills its attacher.
  jobs_.push_back({found->second, {}, 0});
  watches_.erase(found);
  active_ = watches_.size();
  changed_.notify_all();
}

void StepProbes::AddFile(const WatchRef& watch, const ExecutableFile& file) {
  for (std::size_t i = 0; i < watch->specs.size(); ++i)
    if (session::IsLibraryOf(watch->specs[i], file.path)) AddJob(watch, file, i);
}

void StepProbes::AddJob(const WatchRef& watch, const ExecutableFile& file, std::size_t spec) {
  if (jobs_.size() >= kMaxJobs) {
    Say(*watch, spec, 0, "too many processes begin at once: some are not watched");
    return;
  }
  if (!watch->known.emplace(file.pid, file.inode, spec).second) return;
  ++watch->jobs[spec];
  jobs_.push_back({watch, file, spec});
  changed_.notify_all();
}

void StepProbes::NoteEvent(const wire::RawEvent& raw) {
  profd_event header{};
  if (!wire::ReadHeader(raw.bytes, &header)) return;
  if (header.kind == PROFD_EVENT_FORK && (header.flags & PROFD_TASK_NEW_PROCESS) != 0) {
    profd_task_event fork{};
    if (!wire::ReadFixed(raw.bytes, &fork)) return;
    const std::scoped_lock lock(mutex_);
    for (const auto& [session, watch] : watches_) {
      if ((header.sessions >> session & 1) == 0 || watch->members.size() >= kMaxMembers) continue;
      watch->members.insert(header.pid);
      const auto [first, last] = watch->files.equal_range(fork.parent_pid);
      std::vector<std::pair<ExecutableFile, std::size_t>> of_parent;
      for (auto at = first; at != last; ++at) of_parent.push_back(at->second);
      for (auto& [file, spec] : of_parent) {
        file.pid = header.pid;
        AddJob(watch, file, spec);
      }
    }
  } else if (header.kind == PROFD_EVENT_EXIT && (header.flags & PROFD_TASK_LAST_THREAD) != 0) {
    const std::scoped_lock lock(mutex_);
    for (const auto& [session, watch] : watches_) {
      watch->members.erase(header.pid);
      watch->files.erase(header.pid);
      std::erase_if(watch->known,
                    [&](const auto& known) { return std::get<0>(known) == header.pid; });
    }
  } else if (header.kind == PROFD_EVENT_MMAP) {
    profd_mmap_event fixed{};
    if (!wire::ReadFixed(raw.bytes, &fixed) || (fixed.prot & PROT_EXEC) == 0) return;
    const auto tail = raw.bytes.subspan(sizeof(fixed));
    if (fixed.path_bytes == 0 || fixed.path_bytes > tail.size()) return;
    const ExecutableFile file{
        .pid = header.pid,
        .begin = fixed.address,
        .end = fixed.address + fixed.bytes,
        .device_major = fixed.device_major,
        .device_minor = fixed.device_minor,
        .inode = fixed.inode,
        .path = std::string(reinterpret_cast<const char*>(tail.data()), fixed.path_bytes - 1)};
    const std::scoped_lock lock(mutex_);
    for (const auto& [session, watch] : watches_)
      if (watch->members.contains(header.pid)) AddFile(watch, file);
  }
}

void StepProbes::Say(Watch& watch, std::size_t spec, std::uint16_t flags,
                     const std::string& refused) {
  profd_step_source_event event{};
  event.event.time_ns = parts_.clock.MonotonicNs();
  event.event.sessions = std::uint64_t{1} << watch.session;
  event.event.flags = flags;
  event.source = static_cast<__u32>(spec);
  auto bytes = wire::LayOutStepSource(event, session::FormatStepSpec(watch.specs[spec]), refused);
  if (!watch.announced) {
    if (watch.said.size() < kMaxJobs) watch.said.push_back(std::move(bytes));
    return;
  }
  std::vector<wire::EventBytes> events;
  events.push_back(std::move(bytes));
  parts_.put(std::move(events));
}

void StepProbes::Work(const std::stop_token& stop) {
  const Heartbeat::Working working(beat_);
  while (true) {
    Job job;
    {
      const Heartbeat::Waiting waiting(beat_);
      std::unique_lock lock(mutex_);
      changed_.wait(lock, stop, [this] { return !jobs_.empty(); });
      if (stop.stop_requested()) return;
      job = std::move(jobs_.front());
      jobs_.pop_front();
    }
    std::erase_if(killed_, [](const Killed& one) { return one.attacher.HasEnded(); });
    Watch& watch = *job.watch;
    if (job.file.pid == 0) {  // it has stopped
      KillAttacher(watch);
      continue;
    }
    const auto places = PlacesOf(job);
    const auto attached = places ? Attach(job, *places) : Result<void>(places.error());
    std::uint16_t flags = 0;
    if (places) {
      for (const StepPlace& place : *places) {
        if (place.naming != PROFD_STEP_NO_NAME) flags |= PROFD_STEP_SOURCE_NAMES;
        if (place.end) flags |= PROFD_STEP_SOURCE_ENDS;
      }
    }
    const std::scoped_lock lock(mutex_);
    --watch.jobs[job.spec];
    if (attached) {
      ++watch.attached[job.spec];
      watch.files.emplace(job.file.pid, std::pair(job.file, job.spec));
    } else {
      watch.errors[job.spec] = attached.error();
    }
    // One that has ended meanwhile has lost nothing.
    const bool ended = !attached && ::kill(static_cast<pid_t>(job.file.pid), 0) != 0;
    if (!watch.stopped && !ended)
      Say(watch, job.spec, flags,
          attached ? std::string()
                   : "process " + std::to_string(job.file.pid) + ": " + attached.error().message);
    changed_.notify_all();
  }
}

Result<std::vector<StepPlace>> StepProbes::PlacesOf(const Job& job) {
  Watch& watch = *job.watch;
  const std::tuple key(job.file.device_major, job.file.device_minor, job.file.inode, job.spec);
  if (const auto known = watch.places.find(key); known != watch.places.end()) return known->second;
  auto found = tools_.find(job.file, watch.specs[job.spec]);
  if (found) watch.places.emplace(key, *found);
  return found;
}

Result<void> StepProbes::NeedAttacher(Watch& watch) {
  if (watch.attacher) return {};
  const auto now = std::chrono::steady_clock::now();
  const auto held = std::ranges::count_if(
      killed_, [now](const Killed& one) { return now - one.since >= kMayTakeToEnd; });
  if (held >= kMaxHeld)
    return Error{ErrorCode::kExhausted,
                 "the kernel has not withdrawn what earlier sessions had watched",
                 "a process keeps its memory locked; --step loop finds steps in samples"};
  auto made = tools_.make_attacher();
  if (!made) return made.error();
  watch.attacher = std::make_unique<reader::ReaderProcess>(*std::move(made));
  return {};
}

void StepProbes::KillAttacher(Watch& watch) {
  if (!watch.attacher) return;
  watch.attacher->Kill();
  killed_.push_back({std::move(*watch.attacher), std::chrono::steady_clock::now()});
  watch.attacher.reset();
  watch.places_attached = 0;
}

Result<void> StepProbes::Attach(const Job& job, const std::vector<StepPlace>& places) {
  Watch& watch = *job.watch;
  const auto type = UprobeEventType();
  if (!type) return type.error();
  if (watch.places_attached + places.size() > kMaxPlaces)
    return Error{ErrorCode::kExhausted,
                 "more than " + std::to_string(kMaxPlaces) + " places are watched",
                 "name fewer processes"};
  PROFD_TRY(NeedAttacher(watch));
  for (const StepPlace& place : places) {
    const std::uint64_t cookie = profd_step_cookie({.session = static_cast<__u8>(watch.session),
                                                    .source = static_cast<__u8>(job.spec),
                                                    .naming = static_cast<__u8>(place.naming),
                                                    .end = static_cast<__u8>(place.end ? 1 : 0),
                                                    .object = static_cast<__u8>(place.object)});
    PROFD_TRY(AttachOne(watch, PackAttach({.file = job.file,
                                           .offset = place.offset,
                                           .semaphore = place.semaphore,
                                           .cookie = cookie,
                                           .event_type = *type})));
    ++watch.places_attached;
  }
  return {};
}

Result<void> StepProbes::AttachOne(Watch& watch, const std::string& request) {
  const auto deadline = std::chrono::steady_clock::now() + kAttachPatience;
  const std::array descriptors{parts_.program_fd};
  reader::Channel& channel = watch.attacher->channel();
  const auto sent = channel.Send(0, request, deadline, descriptors);
  auto answer = sent ? channel.Receive(kMaxAnswerBytes, deadline)
                     : Result<std::optional<reader::Message>>(sent.error());
  if (answer && *answer && (*answer)->kind == reader::kAnswer) return {};
  if (answer && *answer && (*answer)->kind == reader::kErrorAnswer) {
    reader::Unpacker fields((*answer)->body);
    const auto code = fields.Number<ErrorCode>();
    return Error{code, std::string(fields.Text()), ""};
  }
  // It is late, or has ended: with it goes all that the session had watched.
  KillAttacher(watch);
  return Error{ErrorCode::kUnavailable,
               "the process that watches functions has not answered: nothing is watched any more",
               ""};
}

}  // namespace profd::source
