// Services of gRPC's own, whose messages are not among ours: bytes as protobuf writes them.
#pragma once

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace profd::test {

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
  std::vector<grpc::Slice> slices;
  EXPECT_TRUE(response.Dump(&slices).ok());
  std::string answer;
  for (const grpc::Slice& slice : slices)
    answer.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  return answer;
}

// "service" is field 1 of the request; "status" is field 1 of the response.
inline constexpr const char* kServing = "\x08\x01";
inline constexpr const char* kNotServing = "\x08\x02";

inline std::string HealthOf(const std::shared_ptr<grpc::Channel>& channel) {
  return CallForeign(channel, "/grpc.health.v1.Health/Check", "");
}

}  // namespace profd::test
