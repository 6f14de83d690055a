#include "client/hosts/hosts_collection.h"

#include <grpcpp/create_channel.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <limits>

#include "client/link/channel.h"
#include "client/link/grpc_client.h"
#include "client/profile/check_profile.h"
#include "client/text/number.h"

namespace profd::client {
namespace {

using std::chrono::nanoseconds;
using WallClock = HostSession::Clock;

constexpr auto kMoment = std::chrono::milliseconds(200);
constexpr std::uint64_t kProgressNs = 1'000'000'000;
// A session that is over may take so many times the patience to find its names.
constexpr std::uint64_t kFinishing = 6;
constexpr std::int64_t kClockSlackNs = 1'000'000'000;
constexpr rlim_t kFilesBeside = 100;  // that are not connections

std::int64_t UnixNs(WallClock::time_point time) {
  return std::chrono::duration_cast<nanoseconds>(time.time_since_epoch()).count();
}

// What a host says may be anything.
std::int64_t Bounded(std::uint64_t ns) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max() / 2;
  return static_cast<std::int64_t>(std::min(ns, kMost));
}

std::chrono::system_clock::duration Ns(std::uint64_t ns) {
  return std::chrono::duration_cast<std::chrono::system_clock::duration>(
      nanoseconds(static_cast<std::int64_t>(ns)));
}

// A connection is a file. Where the limit cannot be raised connecting says so.
void AllowFiles(std::size_t connections) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  const rlim_t wanted = std::min<rlim_t>(limit.rlim_max, connections + kFilesBeside);
  if (limit.rlim_cur >= wanted) return;
  limit.rlim_cur = wanted;
  (void)::setrlimit(RLIMIT_NOFILE, &limit);
}

Error NoWord(std::uint64_t patience_ns) {
  return Error{ErrorCode::kUnavailable, "no word for " + FormatDuration(patience_ns), ""};
}

std::string Ahead(std::int64_t by_ns) {
  const auto size = static_cast<std::uint64_t>(std::abs(by_ns));
  return (by_ns < 0 ? " (-" : " (+") + FormatDuration(size) + ")";
}

}  // namespace

struct HostsCollection::Member {
  Member(std::size_t number, const HostAddress& host,
         const std::shared_ptr<grpc::ChannelCredentials>& credentials, HostSession::Report report)
      : index(number), session(host, credentials, std::move(report)) {}

  enum class Phase { kNotReached, kReached, kRunning, kWaits, kAnswers, kHere, kOver };

  const std::size_t index;
  HostSession session;
  Phase phase = Phase::kNotReached;
  WallClock::time_point began;
  WallClock::time_point last_word;
  std::uint32_t id = 0;  // of its session; 0: not started
  std::int64_t offset_ns = 0;
  std::int64_t arrived_ns = 0;  // when its session had begun, by our clock
  std::int64_t round_trip_ns = 0;
  v1::Progress progress;
  std::string bytes;
  bool done = false;
  bool failed = false;
};

HostsCollection::HostsCollection(std::vector<HostAddress> hosts, v1::CollectRequest request,
                                 const HostsLimits& limits)
    : hosts_(std::move(hosts)),
      request_([&] {
        request.set_progress_interval_ns(kProgressNs);
        return std::move(request);
      }()),
      limits_(limits),
      join_(limits.join) {}

HostsCollection::~HostsCollection() = default;

Result<void> HostsCollection::MakeMembers(const TlsFiles& tls) {
  const bool by_tls = std::ranges::any_of(
      hosts_, [](const HostAddress& host) { return host.address.starts_with(kTlsScheme); });
  std::shared_ptr<grpc::ChannelCredentials> credentials;
  if (by_tls) {
    auto made = TlsCredentials(tls);
    if (!made) return made.error();
    credentials = *std::move(made);
  }
  AllowFiles(hosts_.size());
  for (std::size_t i = 0; i < hosts_.size(); ++i) {
    const bool encrypted = hosts_[i].address.starts_with(kTlsScheme);
    members_.push_back(std::make_unique<Member>(
        i, hosts_[i], encrypted ? credentials : grpc::InsecureChannelCredentials(),
        [this, i](HostEvent kind) { Put(i, kind); }));
  }
  return {};
}

void HostsCollection::Put(std::size_t member, HostEvent kind) {
  const std::scoped_lock lock(mutex_);
  events_.push_back({member, kind});
  changed_.notify_one();
}

void HostsCollection::Stop() {
  const std::scoped_lock lock(mutex_);
  stop_wanted_ = true;
  changed_.notify_one();
}

bool HostsCollection::Take(Event& event) {
  std::unique_lock lock(mutex_);
  // There may be a profile to join in the meantime.
  const auto wait = to_join_.empty() ? kMoment : std::chrono::milliseconds(0);
  changed_.wait_for(lock, wait,
                    [&] { return !events_.empty() || (stop_wanted_ && !result_.stopped); });
  if (stop_wanted_) result_.stopped = true;
  if (events_.empty()) return false;
  event = events_.front();
  events_.pop_front();
  return true;
}

void HostsCollection::TakeEvents(const ShowProgress& show, const std::function<bool()>& done) {
  auto shown = WallClock::time_point{};
  while (!done()) {
    Event event;
    if (Take(event)) {
      --pending_;
      Handle(event);
    } else if (!to_join_.empty()) {
      JoinOne();
    }
    if (result_.stopped && !std::exchange(stop_sent_, true)) begun_ ? StopAll() : CancelAll();
    LetAnswer();
    const auto now = WallClock::now();
    if (now - shown < kMoment) continue;
    shown = now;
    CheckPatience(now);
    show(Progress());
  }
}

void HostsCollection::CheckPatience(WallClock::time_point now) {
  for (const auto& member : members_) {
    const bool waits_for_it =
        member->phase == Member::Phase::kRunning || member->phase == Member::Phase::kAnswers;
    if (!waits_for_it || member->failed) continue;
    const bool silent = now - member->last_word > Ns(limits_.patience_ns);
    const bool overdue =
        member->phase == Member::Phase::kRunning &&
        now - member->began > Ns(request_.duration_ns()) + Ns(kFinishing * limits_.patience_ns);
    if (!silent && !overdue) continue;
    Fail(*member, silent ? NoWord(limits_.patience_ns)
                         : Error{ErrorCode::kUnavailable, "its session does not end", ""});
    member->session.Cancel();
  }
}

void HostsCollection::Handle(const Event& event) {
  Member& member = *members_[event.member];
  switch (event.kind) {
    case HostEvent::kReached:
      return OnReached(member);
    case HostEvent::kMessage:
      return OnMessage(member);
    case HostEvent::kEnded:
      return OnEnded(member);
    case HostEvent::kStopAnswered:
      return;
  }
}

void HostsCollection::ReachMore() {
  while (!result_.stopped && connecting_ < limits_.connecting && next_to_reach_ < members_.size()) {
    ++connecting_;
    ++pending_;
    members_[next_to_reach_++]->session.Reach(WallClock::now() + Ns(limits_.patience_ns));
  }
}

void HostsCollection::OnReached(Member& member) {
  --connecting_;
  const grpc::Status& status = member.session.status();
  if (status.ok()) {
    member.phase = Member::Phase::kReached;
  } else if (result_.stopped) {
    member.phase = Member::Phase::kOver;
  } else if (status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED) {
    Fail(member,
         {ErrorCode::kUnavailable,
          "cannot be reached: no answer within " + FormatDuration(limits_.patience_ns), ""});
  } else if (status.error_code() == grpc::StatusCode::UNAVAILABLE) {
    Fail(member, {ErrorCode::kUnavailable, "cannot be reached: " + ReasonIn(status.error_message()),
                  Unreachable(member.session.host().address, "").hint});
  } else {
    Fail(member, ErrorFromStatus(status));
  }
  ReachMore();
}

void HostsCollection::BeginAll() {
  begun_ = true;
  for (const auto& member : members_) {
    if (member->phase != Member::Phase::kReached) continue;
    member->phase = Member::Phase::kRunning;
    member->began = member->last_word = WallClock::now();
    pending_ += 2;  // its first message and its end
    // Far beyond what is waited for: a profile that waits for its turn must not be cut off.
    member->session.Begin(request_, member->began + std::chrono::hours(48));
  }
}

void HostsCollection::OnMessage(Member& member) {
  if (!member.session.has_message()) return;  // OnEnded follows
  member.last_word = member.session.arrived();
  const v1::CollectResponse& message = member.session.message();
  if (message.has_started()) {
    member.id = message.started().session();
    member.arrived_ns = UnixNs(member.session.arrived());
    member.round_trip_ns = member.arrived_ns - UnixNs(member.session.begun());
    member.offset_ns = Bounded(message.started().start_unix_ns()) - member.arrived_ns;
    if (stop_sent_) StopMember(member);
  }
  if (message.has_progress()) member.progress = message.progress();
  if (message.has_done()) member.done = message.done();
  if (message.has_profile_chunk() && !member.failed) return OnChunk(member);
  ++pending_;
  member.session.Next();
}

void HostsCollection::OnChunk(Member& member) {
  if (member.phase == Member::Phase::kRunning) {
    member.phase = Member::Phase::kWaits;
    waiting_.push_back(member.index);
    return;
  }
  TakeChunk(member);
}

void HostsCollection::TakeChunk(Member& member) {
  std::string* chunk = member.session.mutable_chunk();
  if (chunk->size() > limits_.bytes_of_host - member.bytes.size()) {
    Fail(member,
         {ErrorCode::kExhausted, "its profile is longer than " + FormatBytes(limits_.bytes_of_host),
          "collect for a shorter time, at a lower rate (-F) or of fewer processes"});
    member.session.Cancel();
  } else {
    bytes_waiting_ += chunk->size();
    member.bytes += *chunk;
  }
  ++pending_;
  member.session.Next();
}

void HostsCollection::LetAnswer() {
  while (!waiting_.empty() && answering_ < limits_.answering &&
         bytes_waiting_ < limits_.bytes_waiting) {
    Member& member = *members_[waiting_.front()];
    waiting_.pop_front();
    ++answering_;
    member.phase = Member::Phase::kAnswers;
    member.last_word = WallClock::now();
    TakeChunk(member);
  }
}

void HostsCollection::OnEnded(Member& member) {
  if (member.phase == Member::Phase::kAnswers) --answering_;
  member.phase = Member::Phase::kOver;
  const grpc::Status& status = member.session.status();
  if (!member.failed && status.ok() && member.done) {
    member.phase = Member::Phase::kHere;
    to_join_.push_back(member.index);
    return;
  }
  bytes_waiting_ -= member.bytes.size();
  member.bytes = {};
  if (member.failed) return;
  if (status.ok()) return Fail(member, {ErrorCode::kCorrupt, "it sent no whole profile", ""});
  // Nothing of the target is there.
  if (status.error_code() == grpc::StatusCode::NOT_FOUND) {
    result_.nothing.push_back(member.session.host().name);
    return;
  }
  if (status.error_code() != grpc::StatusCode::UNAVAILABLE)
    return Fail(member, ErrorFromStatus(status));
  Fail(member,
       {ErrorCode::kUnavailable,
        "went away in the middle of the collection: " + ReasonIn(status.error_message()), ""});
}

void HostsCollection::JoinOne() {
  Member& member = *members_[to_join_.front()];
  to_join_.pop_front();
  member.phase = Member::Phase::kOver;
  v1::Profile profile;
  const bool parsed = profile.ParseFromString(member.bytes);
  bytes_waiting_ -= member.bytes.size();
  member.bytes = {};
  if (!parsed) return Fail(member, {ErrorCode::kCorrupt, "it sent no whole profile", ""});
  if (const Result<void> sound = CheckProfile(profile); !sound) return Fail(member, sound.error());
  if (profile.samples().weight_ns().empty()) {
    result_.nothing.push_back(member.session.host().name);
    return;
  }
  const JoinedHost place = PlaceOf(member, profile);
  profile.set_start_unix_ns(place.begin_unix_ns);
  if (const Result<void> added = join_.Add(std::move(profile), place); !added)
    Fail(member, added.error());
}

std::int64_t HostsCollection::UsualOffset() const {
  std::vector<std::int64_t> offsets;
  for (const auto& member : members_)
    if (member->id != 0) offsets.push_back(member->offset_ns);
  if (offsets.empty()) return 0;
  const auto middle = offsets.begin() + static_cast<std::ptrdiff_t>(offsets.size() / 2);
  std::ranges::nth_element(offsets, middle);
  return *middle;
}

JoinedHost HostsCollection::PlaceOf(const Member& member, const v1::Profile& profile) {
  const std::string& name = member.session.host().name;
  const std::int64_t usual_ns = UsualOffset();
  const std::int64_t begin_ns = member.arrived_ns + usual_ns;
  const std::int64_t ahead_ns = Bounded(profile.start_unix_ns()) - begin_ns;
  if (std::abs(ahead_ns) <= member.round_trip_ns + kClockSlackNs)
    return {name, profile.start_unix_ns()};
  result_.other_clocks.push_back(name + Ahead(ahead_ns));
  return {name, static_cast<std::uint64_t>(std::max<std::int64_t>(begin_ns, 0))};
}

void HostsCollection::StopMember(Member& member) {
  ++pending_;
  member.session.Stop(member.id, WallClock::now() + Ns(limits_.patience_ns));
}

void HostsCollection::StopAll() {
  for (const auto& member : members_)
    if (member->phase == Member::Phase::kRunning && member->id != 0) StopMember(*member);
}

void HostsCollection::CancelAll() {
  for (const auto& member : members_) member->session.Cancel();
}

void HostsCollection::Fail(Member& member, Error error) {
  member.failed = true;
  if (member.phase == Member::Phase::kNotReached) member.phase = Member::Phase::kOver;
  result_.failures.push_back({member.session.host().name, std::move(error)});
}

HostsProgress HostsCollection::Progress() const {
  HostsProgress progress;
  progress.hosts = members_.size();
  for (const auto& member : members_) {
    using Phase = Member::Phase;
    if (member->failed) ++progress.failed;
    if (member->phase != Phase::kNotReached && !member->failed) ++progress.reached;
    if (member->phase == Phase::kRunning && !member->progress.finishing()) ++progress.running;
    if ((member->phase == Phase::kHere || member->phase == Phase::kOver) && !member->failed)
      ++progress.answered;
    progress.elapsed_ns = std::max(progress.elapsed_ns, member->progress.elapsed_ns());
    progress.samples += member->progress.samples();
    progress.lost += member->progress.lost();
  }
  return progress;
}

Result<HostsResult> HostsCollection::Run(const TlsFiles& tls, const ShowProgress& show) {
  PROFD_TRY(MakeMembers(tls));
  ReachMore();
  TakeEvents(show, [&] { return connecting_ == 0; });
  if (!result_.stopped) {
    BeginAll();
    TakeEvents(show, [&] { return pending_ == 0 && to_join_.empty() && waiting_.empty(); });
  }
  result_.joined = join_.hosts();
  result_.profile = join_.Finish();
  return std::move(result_);
}

}  // namespace profd::client
