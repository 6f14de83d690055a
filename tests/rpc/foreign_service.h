// Services of gRPC's own, whose messages are not among ours: bytes as protobuf writes them.
#pragma once

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace profd::test {

inline std::string Text(const grpc::ByteBuffer& message) {
  std::vector<grpc::Slice> slices;
  EXPECT_TRUE(message.Dump(&slices).ok());
  std::string text;
  for (const grpc::Slice& slice : slices)
    text.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  return text;
}

struct ForeignAnswer {
  grpc::Status status;
  std::string message;
};

// One message for one; of a stream the first one of the answer.
inline ForeignAnswer TryForeign(const std::shared_ptr<grpc::Channel>& channel,
                                const std::string& method, std::string_view request) {
  grpc::ClientContext context;
  grpc::GenericStub stub(channel);
  grpc::CompletionQueue queue;
  const grpc::Slice bytes(request.data(), request.size());
  const auto call = stub.PrepareUnaryCall(&context, method, grpc::ByteBuffer(&bytes, 1), &queue);
  call->StartCall();
  grpc::ByteBuffer response;
  ForeignAnswer answer;
  call->Finish(&response, &answer.status, nullptr);
  void* tag = nullptr;
  bool ok = false;
  EXPECT_TRUE(queue.Next(&tag, &ok) && ok);
  if (answer.status.ok()) answer.message = Text(response);
  return answer;
}

inline std::string CallForeign(const std::shared_ptr<grpc::Channel>& channel,
                               const std::string& method, std::string_view request) {
  const ForeignAnswer answer = TryForeign(channel, method, request);
  EXPECT_TRUE(answer.status.ok()) << answer.status.error_message();
  return answer.message;
}

// One message for a stream.
class ForeignStream {
 public:
  ForeignStream(const std::shared_ptr<grpc::Channel>& channel, const std::string& method,
                std::string_view request)
      : stub_(channel), call_(stub_.PrepareCall(&context_, method, &queue_)) {
    const grpc::Slice bytes(request.data(), request.size());
    call_->StartCall(nullptr);
    (void)Next();
    call_->WriteLast(grpc::ByteBuffer(&bytes, 1), grpc::WriteOptions(), nullptr);
    (void)Next();
  }
  ForeignStream(const ForeignStream&) = delete;
  ForeignStream& operator=(const ForeignStream&) = delete;
  ~ForeignStream() {
    context_.TryCancel();
    (void)Finish();
  }

  // None: the stream has ended.
  std::optional<std::string> Read() {
    grpc::ByteBuffer response;
    call_->Read(&response, nullptr);
    if (!Next()) return std::nullopt;
    return Text(response);
  }

 private:
  grpc::Status Finish() {
    grpc::Status status;
    call_->Finish(&status, nullptr);
    (void)Next();
    return status;
  }
  bool Next() {
    void* tag = nullptr;
    bool ok = false;
    return queue_.Next(&tag, &ok) && ok;
  }

  grpc::ClientContext context_;
  grpc::CompletionQueue queue_;
  grpc::GenericStub stub_;
  const std::unique_ptr<grpc::GenericClientAsyncReaderWriter> call_;
};

// "service" is field 1 of the request; "status" is field 1 of the response.
inline constexpr const char* kServing = "\x08\x01";
inline constexpr const char* kNotServing = "\x08\x02";

inline constexpr const char* kHealthCheck = "/grpc.health.v1.Health/Check";
inline constexpr const char* kHealthWatch = "/grpc.health.v1.Health/Watch";
inline std::string HealthOf(const std::shared_ptr<grpc::Channel>& channel) {
  return CallForeign(channel, kHealthCheck, "");
}

inline constexpr const char* kReflection =
    "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo";
// "list_services" is field 7 of the request, "file_containing_symbol" field 4.
inline constexpr std::string_view kListServices("\x3a\x00", 2);

}  // namespace profd::test
