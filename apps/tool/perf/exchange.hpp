// What the two ranks of a pair do with each other in one test: the part that differs between tests.
// Rank 0 of the pair is the origin, rank 1 the target. One thread per exchange; exchanges in several threads need
// ThreadMode::multiple.
#pragma once

#include "common/pattern.hpp"
#include "tool/perf/options.hpp"

#include <godwit/context.hpp>

#include <memory>
#include <span>
#include <string>

namespace godwit::apps {

struct Pair {
  Context& context;
  Communicator communicator;     // two ranks
  std::span<std::byte> out, in;  // buffers, as large as the largest size
  AtomicChoice atomic = {};

  bool is_origin() const { return communicator.rank() == 0; }
  Rank other() const { return 1 - communicator.rank(); }
};

class Exchange {
 public:
  virtual ~Exchange() = default;

  /// One ping-pong or one operation; both ranks call it.
  virtual void once(std::size_t bytes) = 0;
  /// What only it knows of the way, for the heading; empty: nothing.
  virtual std::string note() const { return {}; }
  /// Is once() a round trip, of which half counts?
  virtual bool round_trip() const noexcept = 0;
  /// Before a series of once() with this size; the caller's barrier follows. Both ranks call it.
  virtual void prepare(std::size_t) {}
  /// Starts one of many operations in flight, and what the other rank does for it: an empty request means nothing.
  virtual Request begin(std::size_t bytes);
  virtual Request expect(std::size_t) { return {}; }
  /// `depth` operations in flight, waited for.
  virtual void window(std::size_t bytes, int depth);
  /// Waits until everything of the windows has arrived. Both ranks call it.
  virtual void finish() {}
  /// One exchange on fresh data; returns the wrong bytes that this rank has found.
  virtual std::size_t check(std::size_t bytes, std::uint64_t seed) = 0;
};

/// Collective over the pair, like the destructor of what it returns.
std::unique_ptr<Exchange> make_exchange(Exchanged what, Pair& pair);

std::unique_ptr<Exchange> make_send_exchange(Pair& pair);
std::unique_ptr<Exchange> make_put_exchange(Pair& pair);
std::unique_ptr<Exchange> make_watched_put_exchange(Pair& pair);
std::unique_ptr<Exchange> make_write_exchange(Pair& pair);
std::unique_ptr<Exchange> make_get_exchange(Pair& pair);
std::unique_ptr<Exchange> make_active_exchange(Pair& pair);
std::unique_ptr<Exchange> make_atomic_exchange(Pair& pair);

/// Bytes that `rank` of the pair sends in a check.
inline Pattern check_data(std::uint64_t seed, Rank rank) { return Pattern::moved(DataType::uint8, seed, rank); }

}  // namespace godwit::apps
