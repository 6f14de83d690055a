#include "daemon/server/grpc/service/serving.h"

#include <grpcpp/health_check_service_interface.h>

namespace profd::server {

void Serving::Set(bool serving) {
  const std::scoped_lock lock(mutex_);
  if (serving == serving_) return;
  serving_ = serving;
  for (auto* health : members_) health->SetServingStatus(serving);
}

Serving::Member::Member(Serving& all, grpc::Server& server)
    : all_(all), health_(server.GetHealthCheckService()) {
  const std::scoped_lock lock(all_.mutex_);
  all_.members_.insert(health_);
  if (!all_.serving_) health_->SetServingStatus(false);
}

Serving::Member::~Member() {
  const std::scoped_lock lock(all_.mutex_);
  all_.members_.erase(health_);
}

}  // namespace profd::server
