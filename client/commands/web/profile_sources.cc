#include "client/commands/web/profile_sources.h"

#include <algorithm>
#include <stop_token>

#include "client/commands/common/history.h"
#include "client/commands/common/profile_file.h"
#include "client/link/collect_session.h"

namespace profd::client {
namespace {

Result<ProfileRef> ReadFile(const std::string& path) {
  Result<v1::Profile> profile = ReadProfileFile(path);
  if (!profile) return profile.error();
  return std::make_shared<const v1::Profile>(*std::move(profile));
}

template <typename Kept>
void Keep(std::deque<Kept>& all, Kept one) {
  all.push_back(std::move(one));
  if (all.size() > ProfileSources::kKept) all.pop_front();
}

}  // namespace

ProfileSources::ProfileSources(std::vector<std::string> files, GrpcClient* client,
                               FleetHistory* fleet, Console& console)
    : files_(std::move(files)),
      client_(client),
      fleet_(fleet),
      console_(console),
      slots_(files_.size()) {
  reader_ = std::jthread([this](const std::stop_token& stop) {
    for (std::size_t i = 0; i < files_.size() && !stop.stop_requested(); ++i)
      if (const auto& profile = ReadOnce(i); !profile) console_.Fail(profile.error());
  });
}

ProfileSources::~ProfileSources() { Stop(); }

Result<GrpcClient*> ProfileSources::Client() const {
  if (client_ != nullptr) return client_;
  return Error{ErrorCode::kUnavailable, "there are files only: no profd runs", ""};
}

Result<v1::StatusResponse> ProfileSources::Status() const {
  if (fleet_ != nullptr) return fleet_->Status();
  const auto client = Client();
  if (!client) return client.error();
  return (*client)->Status();
}

const Result<ProfileRef>& ProfileSources::ReadOnce(std::size_t index) {
  FileSlot& slot = slots_[index];
  std::call_once(slot.read, [&] { slot.profile = ReadFile(files_[index]); });
  return *slot.profile;
}

Result<ProfileRef> ProfileSources::File(std::size_t index) {
  if (index >= files_.size())
    return Error{ErrorCode::kInvalidArgument, "there is no file " + std::to_string(index), ""};
  return ReadOnce(index);
}

Result<ProfileRef> ProfileSources::History(const HistoryQuestion& question) {
  const std::string request = question.request.SerializeAsString();
  {
    const std::scoped_lock lock(mutex_);
    const auto known = std::ranges::find(answers_, request, &Answer::request);
    if (known != answers_.end()) return known->profile;
  }
  Result<v1::Profile> profile = Ask(question);
  if (!profile) return profile.error();
  auto answer = std::make_shared<const v1::Profile>(*std::move(profile));
  const std::scoped_lock lock(mutex_);
  Keep(answers_, {request, answer});
  return ProfileRef(answer);
}

Result<v1::Profile> ProfileSources::Ask(const HistoryQuestion& question) const {
  if (fleet_ != nullptr) return fleet_->Ask(question);
  const auto client = Client();
  if (!client) return client.error();
  return AskHistory(question, **client);
}

Result<LiveProfile> ProfileSources::Collect(const v1::CollectRequest& request) {
  const auto client = Client();
  if (!client) return client.error();
  const auto go_on = [this]() -> Result<void> {
    if (stopping_) return Error{ErrorCode::kUnavailable, "profctl web ends", ""};
    return {};
  };
  CollectSession session(console_);
  Result<v1::Profile> profile =
      session.Run(**client, request,
                  {.started = [&](const v1::Started&) { return go_on(); },
                   .progress = [&](const v1::Progress&) { return go_on(); }});
  if (!profile) return profile.error();
  LiveProfile live;
  live.profile = std::make_shared<const v1::Profile>(*std::move(profile));
  const std::scoped_lock lock(mutex_);
  live.number = next_number_++;
  Keep(sessions_, live);
  return live;
}

Result<ProfileRef> ProfileSources::Live(std::uint64_t number) {
  const std::scoped_lock lock(mutex_);
  const auto found = std::ranges::find(sessions_, number, &LiveProfile::number);
  if (found != sessions_.end()) return found->profile;
  return Error{ErrorCode::kNotFound, "this live profile is not kept any more",
               "the last " + std::to_string(kKept) + " are"};
}

}  // namespace profd::client
