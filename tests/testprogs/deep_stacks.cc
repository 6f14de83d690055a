// deep_stacks ROUNDS: computes and waits under some 30 frames, compiled without frame pointers: a
// tree that is built, sorted and summed through recursion, virtual calls, callbacks of the library
// and threads that hand each other work.
#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <functional>
#include <iostream>
#include <memory>
#include <mutex>
#include <numeric>
#include <thread>
#include <vector>

namespace {

constexpr int kDepth = 20;
constexpr int kHelpers = 2;

class Node {
 public:
  virtual ~Node() = default;
  [[nodiscard]] virtual std::uint64_t Sum(std::uint64_t seed) const = 0;
};

class Leaf : public Node {
 public:
  [[nodiscard]] std::uint64_t Sum(std::uint64_t seed) const override {
    std::vector<std::uint64_t> values(400);
    for (auto& value : values) value = seed = seed * 6364136223846793005u + 1442695040888963407u;
    std::sort(values.begin(), values.end(), [](auto a, auto b) { return a % 1'021 < b % 1'021; });
    return std::accumulate(values.begin(), values.end(), std::uint64_t{0});
  }
};

class Inner : public Node {
 public:
  explicit Inner(std::unique_ptr<Node> next) : next_(std::move(next)) {}
  [[nodiscard]] std::uint64_t Sum(std::uint64_t seed) const override {
    return next_->Sum(seed + 1) + seed;
  }

 private:
  std::unique_ptr<Node> next_;
};

// Work for other threads; the one that asks waits for the answers.
class Helpers {
 public:
  Helpers() {
    for (int i = 0; i < kHelpers; ++i) threads_.emplace_back([this] { Run(); });
  }
  Helpers(const Helpers&) = delete;
  Helpers& operator=(const Helpers&) = delete;
  ~Helpers() {
    {
      const std::scoped_lock lock(mutex_);
      ends_ = true;
    }
    changed_.notify_all();
    for (auto& thread : threads_) thread.join();
  }

  void Do(std::function<void()> work) {
    const std::scoped_lock lock(mutex_);
    work_.push_back(std::move(work));
    ++open_;
    changed_.notify_all();
  }
  void Await() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return open_ == 0; });
  }

 private:
  void Run() {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [this] { return ends_ || !work_.empty(); });
      if (work_.empty()) return;
      const auto work = std::move(work_.front());
      work_.pop_front();
      lock.unlock();
      work();
      lock.lock();
      --open_;
      changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> work_;
  int open_ = 0;
  bool ends_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 1'000;
  std::unique_ptr<Node> tree = std::make_unique<Leaf>();
  for (int i = 0; i < kDepth; ++i) tree = std::make_unique<Inner>(std::move(tree));
  std::uint64_t sum = 0;
  Helpers helpers;
  std::vector<std::uint64_t> sums(kHelpers);
  for (int round = 0; round < rounds; ++round) {
    for (int i = 0; i < kHelpers; ++i)
      helpers.Do([&, i] { sums[i] += tree->Sum(static_cast<std::uint64_t>(round + i)); });
    sum += tree->Sum(static_cast<std::uint64_t>(round));
    helpers.Await();
  }
  std::cout << std::accumulate(sums.begin(), sums.end(), sum) << '\n';
}
