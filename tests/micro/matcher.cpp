// The matcher with 1, 100 and 10 000 entries. An iteration takes one entry out and puts it back at the end, so that
// their number stays the same. What does not match is an error, not a fast benchmark.
#include "core/matcher.hpp"

#include <benchmark/benchmark.h>

namespace godwit::micro {
namespace {

using core::Matcher;
using core::Operation;
using core::Unexpected;

constexpr std::uint32_t context = 2;
constexpr Rank source = 1;

/// N receives with tags 0 to N-1, from `from`.
struct Receives {
  Receives(std::int64_t count, Rank from) {
    for (Tag tag = 0; tag < count; ++tag) {
      Operation& receive = pool.acquire(Operation::Kind::recv);
      receive.context = context;
      receive.source = from;
      receive.tag = tag;
      matcher.post(receive);
    }
  }
  bool match(Tag tag) {
    Operation* receive = matcher.arrived(context, source, tag);
    if (receive == nullptr || receive->tag != tag) return false;
    matcher.post(*receive);
    return true;
  }
  core::OperationPool pool;
  Matcher matcher;
};

/// N messages with tags 0 to N-1.
struct Messages {
  explicit Messages(std::int64_t count) {
    for (Tag tag = 0; tag < count; ++tag) {
      Unexpected& message = matcher.acquire();
      message.context = context;
      message.source = source;
      message.tag = tag;
      matcher.add(message);
    }
  }
  bool match(Rank from, Tag tag) {
    Unexpected* message = matcher.take(context, from, tag);
    if (message == nullptr || (tag != any_tag && message->tag != tag)) return false;
    matcher.add(*message);
    return true;
  }
  Matcher matcher;
};

// Tags in order always match the entry that waits longest; the last tag the one that came last.
enum class Where { front, end };

template <class Match>
void run(benchmark::State& state, Where where, Match&& match) {
  const Tag count = state.range(0);
  Tag tag = where == Where::front ? 0 : count - 1;
  for (auto _ : state) {
    if (!match(tag)) {
      state.SkipWithError("no match, or another one");
      return;
    }
    if (where == Where::front && ++tag == count) tag = 0;
  }
}

void posted(benchmark::State& state, Where where, Rank from) {
  Receives receives(state.range(0), from);
  run(state, where, [&](Tag tag) { return receives.match(tag); });
}
BENCHMARK_CAPTURE(posted, front, Where::front, source)->Arg(1)->Arg(100)->Arg(10'000);
BENCHMARK_CAPTURE(posted, end, Where::end, source)->Arg(1)->Arg(100)->Arg(10'000);
BENCHMARK_CAPTURE(posted, any_source_front, Where::front, any_source)->Arg(1)->Arg(100)->Arg(10'000);
BENCHMARK_CAPTURE(posted, any_source_end, Where::end, any_source)->Arg(1)->Arg(100)->Arg(10'000);

void unexpected(benchmark::State& state, Where where, Rank from) {
  Messages messages(state.range(0));
  run(state, where, [&](Tag tag) { return messages.match(from, tag); });
}
BENCHMARK_CAPTURE(unexpected, front, Where::front, source)->Arg(1)->Arg(100)->Arg(10'000);
BENCHMARK_CAPTURE(unexpected, end, Where::end, source)->Arg(1)->Arg(100)->Arg(10'000);
BENCHMARK_CAPTURE(unexpected, any_source_end, Where::end, any_source)->Arg(1)->Arg(100)->Arg(10'000);

void unexpected_wild(benchmark::State& state) {
  Messages messages(state.range(0));
  run(state, Where::front, [&](Tag) { return messages.match(any_source, any_tag); });
}
BENCHMARK(unexpected_wild)->Arg(1)->Arg(100)->Arg(10'000);

// A message for which nobody waits, among N receives; then the receive for it.
void missed_then_received(benchmark::State& state) {
  Receives receives(state.range(0), source);
  const Tag tag = state.range(0);
  for (auto _ : state) {
    if (receives.matcher.arrived(context, source, tag) != nullptr) {
      state.SkipWithError("a match for a tag that nobody waits for");
      return;
    }
    Unexpected& message = receives.matcher.acquire();
    message.context = context;
    message.source = source;
    message.tag = tag;
    receives.matcher.add(message);
    Unexpected* taken = receives.matcher.take(context, source, tag);
    if (taken != &message) {
      state.SkipWithError("the message is not there");
      return;
    }
    receives.matcher.recycle(*taken);
  }
}
BENCHMARK(missed_then_received)->Arg(1)->Arg(100)->Arg(10'000);

}  // namespace
}  // namespace godwit::micro
