// DirectReaders: answers requests in the calling process, by the real parser and the real opener,
// without a sandbox. LyingReaders: answers what a test wants. LateReaders: never in time.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "daemon/reader/opener.h"
#include "daemon/reader/reader_pool.h"
#include "daemon/reader/zygote.h"

namespace profd::test {

class DirectReaders : public reader::Readers {
 public:
  explicit DirectReaders(std::unique_ptr<reader::Parser> parser, ProcFs proc = ProcFs())
      : parser_(std::move(parser)), opener_(std::move(proc)) {}

  Result<std::string> Ask(const reader::ReaderRequest& request,
                          std::chrono::milliseconds /*patience*/) override {
    const std::scoped_lock lock(mutex_);
    std::vector<UniqueFd> descriptors;
    for (const int fd : request.descriptors) descriptors.emplace_back(::dup(fd));
    return parser_->Answer(request.body, {opener_, descriptors});
  }

  bool IsHeldBy(std::uint64_t /*target*/) const override { return false; }

 private:
  std::mutex mutex_;
  std::unique_ptr<reader::Parser> parser_;
  reader::Opener opener_;
};

// Readers that a hostile target has taken over: they may answer anything.
class LyingReaders : public reader::Readers {
 public:
  Result<std::string> Ask(const reader::ReaderRequest& request,
                          std::chrono::milliseconds /*patience*/) override {
    targets.push_back(request.target);
    return answers[std::min(targets.size(), answers.size()) - 1];
  }
  bool IsHeldBy(std::uint64_t /*target*/) const override { return false; }

  std::vector<std::string> answers{""};  // in this order; the last one also to all further requests
  std::vector<std::uint64_t> targets;
};

// Answers nothing in time.
class LateReaders : public reader::Readers {
 public:
  Result<std::string> Ask(const reader::ReaderRequest& request,
                          std::chrono::milliseconds /*patience*/) override {
    return Error{ErrorCode::kUnavailable, request.name + ": is being read", ""};
  }
  bool IsHeldBy(std::uint64_t /*target*/) const override { return false; }
};

}  // namespace profd::test
