// send_lat, send_bw, msg_rate: tagged messages.
#include "tool/perf/exchange.hpp"

namespace godwit::apps {

namespace {

class SendExchange : public Exchange {
 public:
  explicit SendExchange(Pair& pair) : pair_(pair) {}

  void once(std::size_t bytes) override {
    Communicator& peers = pair_.communicator;
    if (pair_.is_origin()) {
      peers.send_bytes(pair_.out.data(), bytes, 1);
      peers.recv_bytes(pair_.in.data(), bytes, 1);
    } else {
      peers.recv_bytes(pair_.in.data(), bytes, 0);
      peers.send_bytes(pair_.out.data(), bytes, 0);
    }
  }
  bool round_trip() const noexcept override { return true; }

  Request begin(std::size_t bytes) override {
    return pair_.communicator.isend_bytes(pair_.out.data(), bytes, pair_.other());
  }
  Request expect(std::size_t bytes) override {
    return pair_.communicator.irecv_bytes(pair_.in.data(), bytes, pair_.other());
  }

  void window(std::size_t bytes, int depth) override {
    requests_.clear();
    for (int i = 0; i < depth; ++i)
      requests_.push_back(pair_.is_origin() ? pair_.communicator.isend_bytes(pair_.out.data(), bytes, 1)
                                            : pair_.communicator.irecv_bytes(pair_.in.data(), bytes, 0));
    wait_all(requests_);
  }
  void finish() override {  // messages do not overtake: after the last one the target answers
    if (pair_.is_origin())
      pair_.communicator.recv_bytes(nullptr, 0, 1);
    else
      pair_.communicator.send_bytes(nullptr, 0, 0);
  }

  std::size_t check(std::size_t bytes, std::uint64_t seed) override {
    check_data(seed, pair_.communicator.rank()).fill(pair_.out.data(), bytes);
    Request incoming = pair_.communicator.irecv_bytes(pair_.in.data(), bytes, pair_.other());
    pair_.communicator.send_bytes(pair_.out.data(), bytes, pair_.other());
    incoming.wait();
    return check_data(seed, pair_.other()).count_wrong(pair_.in.data(), bytes);
  }

 private:
  Pair& pair_;
  std::vector<Request> requests_;
};

}  // namespace

std::unique_ptr<Exchange> make_send_exchange(Pair& pair) { return std::make_unique<SendExchange>(pair); }

}  // namespace godwit::apps
