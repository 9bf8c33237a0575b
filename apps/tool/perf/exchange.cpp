#include "tool/perf/exchange.hpp"

#include <stdexcept>

namespace godwit::apps {

void Exchange::window(std::size_t, int) { throw std::logic_error("this test has no bandwidth form"); }

Request Exchange::begin(std::size_t) { throw std::logic_error("this test has no bandwidth form"); }

std::unique_ptr<Exchange> make_exchange(Exchanged what, Pair& pair) {
  switch (what) {
    case Exchanged::send: return make_send_exchange(pair);
    case Exchanged::put: return make_put_exchange(pair);
    case Exchanged::watched_put: return make_watched_put_exchange(pair);
    case Exchanged::write: return make_write_exchange(pair);
    case Exchanged::get: return make_get_exchange(pair);
    case Exchanged::active: return make_active_exchange(pair);
    case Exchanged::atomic: return make_atomic_exchange(pair);
  }
  throw std::logic_error("unknown exchange");
}

}  // namespace godwit::apps
