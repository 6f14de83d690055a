#include "daemon/containers/container_directory.h"

#include <pthread.h>

#include <algorithm>
#include <utility>

namespace profd::containers {
namespace {

constexpr std::chrono::milliseconds kAwaitStep{20};

}  // namespace

ContainerDirectory::ContainerDirectory(DirectorySettings settings)
    : settings_(std::move(settings)), snapshot_(std::make_shared<const Known>()) {
  for (const std::string& socket : settings_.sockets)
    if (runtimes_.size() < kMaxSockets) runtimes_.push_back(std::make_unique<Runtime>(socket));
  if (runtimes_.empty()) return;
  thread_ = std::jthread([this](const std::stop_token& stop) { Run(stop); });
}

ContainerDirectory::~ContainerDirectory() {
  thread_.request_stop();
  for (const auto& runtime : runtimes_) runtime->client.Cancel();
}

std::shared_ptr<const process::ContainerLabels> ContainerDirectory::Find(const std::string& id) {
  const std::scoped_lock lock(mutex_);
  if (const auto known = snapshot_->find(id); known != snapshot_->end()) return known->second;
  if (runtimes_.empty() || wanted_.size() >= kMaxWanted) return nullptr;
  if (const auto missing = missing_.find(id); missing != missing_.end()) {
    if (std::chrono::steady_clock::now() < missing->second + settings_.again) return nullptr;
    missing_.erase(missing);
  }
  if (wanted_.insert(id).second) wake_.notify_all();
  return nullptr;
}

std::vector<std::string> ContainerDirectory::Describe() const {
  const std::scoped_lock lock(mutex_);
  std::vector<std::string> texts;
  for (const auto& runtime : runtimes_)
    if (!runtime->text.empty()) texts.push_back(runtime->text);
  return texts;
}

bool ContainerDirectory::Await(std::chrono::milliseconds timeout) {
  const auto end = std::chrono::steady_clock::now() + timeout;
  std::unique_lock lock(mutex_);
  while (!wanted_.empty() || listing_) {
    if (std::chrono::steady_clock::now() >= end) return false;
    (void)wake_.wait_for(lock, kAwaitStep, [this] { return wanted_.empty() && !listing_; });
  }
  return true;
}

void ContainerDirectory::Run(const std::stop_token& stop) {
  ::pthread_setname_np(::pthread_self(), "profd-containers");
  const Heartbeat::Working working(beat_);
  // So that containers are known before the first process of theirs is described.
  List();
  Time listed = std::chrono::steady_clock::now();
  for (;;) {
    {
      const Heartbeat::Waiting waiting(beat_);
      std::unique_lock lock(mutex_);
      (void)wake_.wait(lock, stop, [this] { return !wanted_.empty(); });
      (void)wake_.wait_until(lock, stop, listed + settings_.soonest, [] { return false; });
    }
    if (stop.stop_requested()) return;
    List();
    listed = std::chrono::steady_clock::now();
  }
}

void ContainerDirectory::List() {
  std::unordered_set<std::string> looked_for;
  {
    const std::scoped_lock lock(mutex_);
    looked_for = std::exchange(wanted_, {});
    listing_ = true;
  }
  std::vector<std::string> texts;
  auto all = std::make_shared<Known>();
  for (const auto& runtime : runtimes_) {
    const auto listing = runtime->client.List();
    if (listing) {
      runtime->before = std::exchange(runtime->known, LabelsIn(*listing));
      texts.push_back(listing->runtime + " at " + runtime->client.socket() + ": " +
                      std::to_string(runtime->known.size()) + " containers and pods" +
                      (listing->cut ? ", more are not kept" : ""));
    } else if (listing.error().code == ErrorCode::kNotFound) {
      texts.emplace_back();
    } else {
      const std::string path = runtime->client.socket() + ": ";
      const std::string& why = listing.error().message;
      texts.push_back(why.starts_with(path) ? why : path + why);
    }
    all->insert(runtime->known.begin(), runtime->known.end());
    all->insert(runtime->before.begin(), runtime->before.end());
    beat_.Beat();
  }
  const Time now = std::chrono::steady_clock::now();
  const std::scoped_lock lock(mutex_);
  for (std::size_t i = 0; i < texts.size(); ++i) runtimes_[i]->text = std::move(texts[i]);
  std::erase_if(missing_, [&](const auto& one) { return one.second + settings_.again <= now; });
  for (const std::string& id : looked_for)
    if (!all->contains(id) && missing_.size() < kMaxWanted) missing_.emplace(id, now);
  snapshot_ = std::move(all);
  listing_ = false;
  wake_.notify_all();
}

ContainerDirectory::Known ContainerDirectory::LabelsIn(const Listing& listing) const {
  Known known;
  for (const auto& [id, facts] : listing.containers) {
    auto labels = LabelsOf(facts, settings_.pod_labels);
    if (!settings_.node.empty()) labels.labels.emplace("k8s.node.name", settings_.node);
    known.emplace(id, std::make_shared<const process::ContainerLabels>(std::move(labels)));
  }
  return known;
}

}  // namespace profd::containers
