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

// One message for one; of a stream the first one of the answer.
inline std::string CallForeign(const std::shared_ptr<grpc::Channel>& channel,
                               const std::string& method, std::string_view request) {
  grpc::ClientContext context;
  grpc::GenericStub stub(channel);
  grpc::CompletionQueue queue;
  const grpc::Slice bytes(request.data(), request.size());
  const auto call = stub.PrepareUnaryCall(&context, method, grpc::ByteBuffer(&bytes, 1), &queue);
  call->StartCall();
  grpc::ByteBuffer response;
  grpc::Status status;
  call->Finish(&response, &status, nullptr);
  void* tag = nullptr;
  bool ok = false;
  EXPECT_TRUE(queue.Next(&tag, &ok) && ok);
  EXPECT_TRUE(status.ok()) << status.error_message();
  return Text(response);
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

inline std::string HealthOf(const std::shared_ptr<grpc::Channel>& channel) {
  return CallForeign(channel, "/grpc.health.v1.Health/Check", "");
}

}  // namespace profd::test
