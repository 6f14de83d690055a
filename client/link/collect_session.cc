#include "client/link/collect_session.h"

#include <utility>

namespace profd::client {

Result<v1::Profile> CollectSession::Run(GrpcClient& client, const v1::CollectRequest& request,
                                        const CollectCallbacks& callbacks) {
  CollectCallbacks own = callbacks;
  own.started = [&](const v1::Started& started) -> Result<void> {
    Started(client, started.session());
    return callbacks.started(started);
  };
  Result<v1::Profile> profile = client.Collect(request, own);
  std::jthread stopper;
  {
    // A late Stop must not use a client that may be gone by then.
    const std::scoped_lock lock(mutex_);
    stop_sent_ = true;
    stopper = std::move(stopper_);
  }
  return profile;
}

void CollectSession::Started(GrpcClient& client, std::uint32_t session) {
  const std::scoped_lock lock(mutex_);
  client_ = &client;
  session_ = session;
  if (stop_wanted_) SendStop();
}

void CollectSession::Stop() {
  const std::scoped_lock lock(mutex_);
  stop_wanted_ = true;
  if (session_) SendStop();
}

bool CollectSession::started() {
  const std::scoped_lock lock(mutex_);
  return session_.has_value();
}

void CollectSession::SendStop() {
  if (std::exchange(stop_sent_, true)) return;
  stopper_ = std::jthread([this, client = client_, session = *session_] {
    // A session that has ended by itself is no trouble; all others show in the stream.
    if (const Result<void> stopped = client->Stop(session); !stopped)
      console_.Explain(stopped.error().message);
  });
}

}  // namespace profd::client
