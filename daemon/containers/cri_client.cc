#include "daemon/containers/cri_client.h"

#include <grpcpp/grpcpp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <utility>

#include "daemon/base/utf8.h"
#include "daemon/containers/cri.grpc.pb.h"

namespace profd::containers {
namespace {

namespace cri = runtime::v1;

constexpr std::size_t kMaxMessageBytes = 300;
constexpr std::size_t kMaxText = 1'024;
constexpr std::size_t kMaxLabelsRead = 256;
constexpr std::size_t kIdBytes = 128;
constexpr std::string_view kDigest = "sha256:";

std::string Bounded(const std::string& text, std::size_t bytes = kMaxText) {
  return text.substr(0, bytes);
}

ContainerFacts FactsOf(const cri::PodSandbox& pod) {
  ContainerFacts facts;
  facts.pod = Bounded(pod.metadata().name());
  facts.pod_uid = Bounded(pod.metadata().uid());
  facts.pod_namespace = Bounded(pod.metadata().namespace_());
  for (const auto& [name, value] : pod.labels()) {
    if (facts.pod_labels.size() == kMaxLabelsRead) break;
    facts.pod_labels.emplace(Bounded(name), Bounded(value));
  }
  return facts;
}

// The name, or the id where the runtime was given that.
std::string ImageOf(const cri::Container& container) {
  const cri::ImageSpec& image = container.image();
  return Bounded(image.user_specified_image().empty() ? image.image()
                                                      : image.user_specified_image());
}

Error ErrorOf(const grpc::Status& status, const std::string& what) {
  const auto message =
      ValidUtf8(std::string_view(status.error_message()).substr(0, kMaxMessageBytes));
  switch (status.error_code()) {
    case grpc::StatusCode::DEADLINE_EXCEEDED:
      return Error{ErrorCode::kUnavailable, "it does not answer", ""};
    case grpc::StatusCode::PERMISSION_DENIED:
      return Error{ErrorCode::kPermissionDenied, message, ""};
    case grpc::StatusCode::UNIMPLEMENTED:
      return Error{ErrorCode::kUnsupported, "it does not speak CRI v1: " + message, ""};
    default:
      return Error{ErrorCode::kUnavailable, what + ": " + message, ""};
  }
}

}  // namespace

struct CriClient::Connection {
  std::shared_ptr<grpc::Channel> channel;
  std::unique_ptr<cri::RuntimeService::Stub> runtime;
  std::unique_ptr<cri::ImageService::Stub> images;
};

CriClient::CriClient(std::string socket) : socket_(std::move(socket)) {
  grpc::ChannelArguments arguments;
  // The default is the path, which some runtimes refuse.
  arguments.SetString(GRPC_ARG_DEFAULT_AUTHORITY, "localhost");
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 100);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 500);
  arguments.SetMaxReceiveMessageSize(kMaxAnswerBytes);
  arguments.SetUserAgentPrefix("profd/" PROFD_VERSION);
  connection_ = std::make_unique<Connection>();
  connection_->channel =
      grpc::CreateCustomChannel("unix:" + socket_, grpc::InsecureChannelCredentials(), arguments);
  connection_->runtime = cri::RuntimeService::NewStub(connection_->channel);
  connection_->images = cri::ImageService::NewStub(connection_->channel);
}

CriClient::~CriClient() = default;

void CriClient::Cancel() {
  const std::scoped_lock lock(mutex_);
  cancelled_ = true;
  if (context_ != nullptr) static_cast<grpc::ClientContext*>(context_)->TryCancel();
}

template <typename Call>
Result<void> CriClient::Ask(const char* what, const Call& call) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kTimeout);
  {
    const std::scoped_lock lock(mutex_);
    if (cancelled_) return Error{ErrorCode::kUnavailable, "profd ends", ""};
    context_ = &context;
  }
  const grpc::Status status = call(&context);
  {
    const std::scoped_lock lock(mutex_);
    context_ = nullptr;
  }
  return status.ok() ? Result<void>() : ErrorOf(status, what);
}

Result<Listing> CriClient::List() {
  struct stat file {};
  if (::stat(socket_.c_str(), &file) != 0) return ErrorFromErrno(errno, socket_);
  if (!S_ISSOCK(file.st_mode)) return Error{ErrorCode::kInvalidArgument, "it is no socket", ""};
  if (::access(socket_.c_str(), W_OK) != 0) return ErrorFromErrno(errno, socket_);
  Listing listing;
  cri::VersionResponse version;
  PROFD_TRY(Ask("Version", [&](grpc::ClientContext* context) {
    return connection_->runtime->Version(context, {}, &version);
  }));
  listing.runtime =
      ValidUtf8(Bounded(version.runtime_name(), 64) + " " + Bounded(version.runtime_version(), 64));
  cri::ListPodSandboxResponse pods;
  PROFD_TRY(Ask("ListPodSandbox", [&](grpc::ClientContext* context) {
    return connection_->runtime->ListPodSandbox(context, {}, &pods);
  }));
  for (const cri::PodSandbox& pod : pods.items()) {
    if (pod.id().empty() || pod.id().size() > kIdBytes) continue;
    if (listing.containers.size() == kMaxContainers) {
      listing.cut = true;
      break;
    }
    listing.containers.emplace(pod.id(), FactsOf(pod));
  }
  cri::ListContainersResponse containers;
  PROFD_TRY(Ask("ListContainers", [&](grpc::ClientContext* context) {
    return connection_->runtime->ListContainers(context, {}, &containers);
  }));
  for (const cri::Container& container : containers.containers()) {
    if (container.id().empty() || container.id().size() > kIdBytes) continue;
    if (listing.containers.size() == kMaxContainers) {
      listing.cut = true;
      break;
    }
    const auto pod = listing.containers.find(container.pod_sandbox_id());
    ContainerFacts facts = pod == listing.containers.end() ? ContainerFacts{} : pod->second;
    facts.container = Bounded(container.metadata().name());
    facts.image = ImageOf(container);
    listing.containers.insert_or_assign(container.id(), std::move(facts));
  }
  NameImages(listing);
  return listing;
}

// Where a container has only the id of its image. Without an answer its image has no name.
void CriClient::NameImages(Listing& listing) {
  bool any = false;
  for (const auto& [id, facts] : listing.containers) any = any || facts.image.starts_with(kDigest);
  if (!any) return;
  cri::ListImagesResponse images;
  (void)Ask("ListImages", [&](grpc::ClientContext* context) {
    return connection_->images->ListImages(context, {}, &images);
  });
  std::unordered_map<std::string, std::string> names;
  for (const cri::Image& image : images.images())
    if (image.repo_tags_size() > 0) names.emplace(image.id(), Bounded(image.repo_tags(0)));
  for (auto& [id, facts] : listing.containers) {
    if (!facts.image.starts_with(kDigest)) continue;
    const auto name = names.find(facts.image);
    facts.image = name == names.end() ? std::string() : name->second;
  }
}

}  // namespace profd::containers
