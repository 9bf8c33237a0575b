// am_lat: active messages. The handler notes that one has come; the waiting rank drives progress.
#include "tool/perf/exchange.hpp"

#include <optional>
#include <thread>

namespace godwit::apps {

namespace {

constexpr std::uint16_t ping = 1;

class ActiveExchange : public Exchange {
 public:
  explicit ActiveExchange(Pair& pair) : pair_(pair) {
    pair_.communicator.on_message(ping, [this](const ActiveMessage& message) { on_ping(message); });
    pair_.communicator.barrier();
  }
  ~ActiveExchange() override { pair_.communicator.on_message(ping, {}); }

  void once(std::size_t bytes) override {
    if (!pair_.is_origin()) await();
    Request sent = pair_.communicator.message_bytes(pair_.out.data(), bytes, pair_.other(), ping);
    if (pair_.is_origin()) await();
    sent.wait();
  }
  bool round_trip() const noexcept override { return true; }

  std::size_t check(std::size_t bytes, std::uint64_t seed) override {
    check_data(seed, pair_.communicator.rank()).fill(pair_.out.data(), bytes);
    expected_.emplace(check_data(seed, pair_.other()));
    expected_bytes_ = bytes;
    wrong_ = 0;
    pair_.communicator.barrier();  // both know what to expect
    once(bytes);
    expected_.reset();
    return wrong_;
  }

 private:
  void on_ping(const ActiveMessage& message) {
    ++arrived_;
    if (!expected_) return;
    wrong_ += message.payload.size() == expected_bytes_
                  ? expected_->count_wrong(message.payload.data(), message.payload.size())
                  : expected_bytes_ + 1;
  }

  void await() {
    constexpr int polls_before_yield = 1000;  // for hosts with more ranks than CPUs
    for (int polls = 0; arrived_ == 0; ++polls) {
      if (polls >= polls_before_yield) std::this_thread::yield();
      pair_.context.progress();
    }
    --arrived_;
  }

  Pair& pair_;
  long arrived_ = 0;
  std::optional<Pattern> expected_;
  std::size_t expected_bytes_ = 0, wrong_ = 0;
};

}  // namespace

std::unique_ptr<Exchange> make_active_exchange(Pair& pair) { return std::make_unique<ActiveExchange>(pair); }

}  // namespace godwit::apps
