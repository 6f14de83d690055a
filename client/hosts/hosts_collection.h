// HostsCollection: sessions of many hosts at one time, and their profiles as one.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "client/hosts/host_list.h"
#include "client/hosts/host_session.h"
#include "client/link/host.h"
#include "client/profile/join/profile_join.h"
#include "daemon/base/result.h"
#include "profd/v1/profile.pb.h"
#include "profd/v1/profiler.pb.h"

namespace profd::client {

struct HostsLimits {
  std::size_t connecting = 64;                 // connections that are being made at once
  std::size_t answering = 16;                  // profiles that are on their way at once
  std::size_t bytes_of_host = 64u << 20;       // of a profile
  std::size_t bytes_waiting = 512u << 20;      // of profiles that are here and not joined yet
  std::uint64_t patience_ns = 20'000'000'000;  // until a host is reached; after its time is over
  JoinLimits join = {};
};

struct HostFailure {
  std::string host;
  Error error;
};

struct HostsProgress {
  std::size_t hosts = 0;
  std::size_t reached = 0;
  std::size_t failed = 0;
  std::size_t running = 0;   // sessions
  std::size_t answered = 0;  // whose profile is here
  std::uint64_t elapsed_ns = 0;
  std::uint64_t samples = 0;
  std::uint64_t lost = 0;
};

struct HostsResult {
  v1::Profile profile;
  std::size_t joined = 0;            // hosts in it
  std::vector<std::string> nothing;  // hosts that have answered, and had nothing of the target
  std::vector<HostFailure> failures;
  std::vector<std::string> other_clocks;  // hosts whose clock differs from most: "web1 (+3.2 s)"
  bool stopped = false;
};

// First all hosts are reached, then all sessions begin at one time, so that their ranges are one.
// Hosts that cannot be reached, or fail later, cost the others nothing. A host whose clock is a
// second or more away from most others is put where its session began by ours. Run once, on one
// thread; Stop from any.
class HostsCollection {
 public:
  using ShowProgress = std::function<void(const HostsProgress&)>;

  HostsCollection(std::vector<HostAddress> hosts, v1::CollectRequest request,
                  const HostsLimits& limits = {});
  HostsCollection(const HostsCollection&) = delete;
  HostsCollection& operator=(const HostsCollection&) = delete;
  ~HostsCollection();

  // The request has a duration. An error is about all hosts: TLS files that cannot be used.
  [[nodiscard]] Result<HostsResult> Run(const TlsFiles& tls, const ShowProgress& show);
  // Ends all sessions; Run returns what there is. Before they have begun, nothing.
  void Stop();

 private:
  struct Member;
  struct Event {
    std::size_t member = 0;
    HostEvent kind = HostEvent::kReached;
  };

  [[nodiscard]] Result<void> MakeMembers(const TlsFiles& tls);
  // False: none comes within a moment.
  [[nodiscard]] bool Take(Event& event);
  void Put(std::size_t member, HostEvent kind);
  void TakeEvents(const ShowProgress& show, const std::function<bool()>& done);
  void Handle(const Event& event);
  void OnReached(Member& member);
  void OnMessage(Member& member);
  void OnChunk(Member& member);
  void TakeChunk(Member& member);
  void OnEnded(Member& member);
  void ReachMore();
  void BeginAll();
  void StopMember(Member& member);
  void StopAll();
  void CancelAll();
  // Lets hosts that wait send their profiles.
  void LetAnswer();
  void JoinOne();
  // Gives up hosts that say nothing, or do not end.
  void CheckPatience(HostSession::Clock::time_point now);
  void Fail(Member& member, Error error);
  // In ns, between the clocks of most hosts and ours.
  [[nodiscard]] std::int64_t UsualOffset() const;
  [[nodiscard]] JoinedHost PlaceOf(const Member& member, const v1::Profile& profile);
  [[nodiscard]] HostsProgress Progress() const;

  const std::vector<HostAddress> hosts_;
  const v1::CollectRequest request_;
  const HostsLimits limits_;
  std::vector<std::unique_ptr<Member>> members_;
  ProfileJoin join_;
  HostsResult result_;
  std::size_t next_to_reach_ = 0;
  std::size_t connecting_ = 0;
  std::size_t answering_ = 0;
  std::size_t bytes_waiting_ = 0;
  std::size_t pending_ = 0;          // events that are to come
  std::deque<std::size_t> waiting_;  // members with a first part of their profile
  std::deque<std::size_t> to_join_;  // members with a whole profile
  bool begun_ = false;
  bool stop_sent_ = false;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Event> events_;
  bool stop_wanted_ = false;
};

}  // namespace profd::client
