// What the probes share: two ranks of one process, both driven in turn by one thread, so that the counts are the same
// in every run, and the steps that counts.py collects. For one source file of a program.
#pragma once

#include <valgrind/callgrind.h>

#include <godwit/communicator.hpp>
#include <godwit/context.hpp>
#include <godwit/window.hpp>

#include <nlohmann/json.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <latch>
#include <span>
#include <string_view>

#include "runtime/local_ranks.hpp"

namespace godwit::instructions {

inline constexpr int rounds = 9;  // counts.py takes the median
inline constexpr Tag tag = 5;
inline constexpr std::uint16_t notification = 3;
inline constexpr std::size_t batch = 16;

struct Side {
  Side(Context& its_context, std::span<std::byte> memory)
      : context(its_context), world(context.world()), window(world.window_bytes(memory.data(), memory.size())) {}
  Context& context;
  Communicator world;
  ByteWindow window;
  std::array<std::byte, 8> small{};
  std::array<std::byte, 1024> medium{};
};

struct Stage {
  Side& from;  // rank 0
  Side& to;    // rank 1
  std::array<Request, batch> requests{};
};

using Step = void (*)(Stage&);

// counts.py collects inside of this function only.
extern "C" [[gnu::noinline]] inline void counted_step(Step step, Stage& stage) { step(stage); }

inline void count(const char* name, Stage& stage, Step step) {
  CALLGRIND_ZERO_STATS;
  counted_step(step, stage);
  CALLGRIND_DUMP_STATS_AT(name);
}

inline void send_8(Stage& stage) { stage.from.world.send(stage.from.small, 1, tag); }
inline void receive_8(Stage& stage) { stage.to.world.recv(stage.to.small, 0, tag); }

inline bool asks_for_build(int argc, char** argv) { return argc == 2 && std::string_view(argv[1]) == "--build"; }
inline void print_build() {
  const nlohmann::ordered_json build{
      {"compiler", GODWIT_COMPILER}, {"flags", GODWIT_FLAGS}, {"processor", GODWIT_PROCESSOR}};
  std::cout << build.dump() << '\n';
}

/// Windows of both ranks are over a Memory. `warm_up` once, then `count_steps` in each round.
template <class Memory>
void run(const ContextOptions& options, Step warm_up, Step count_steps) {
  std::array<Side*, 2> sides{};
  std::latch ready(2), finished(1);
  runtime::run_local_ranks(
      2,
      [&](Context& context) {
        Memory memory(64);
        Side side(context, memory);
        sides[static_cast<std::size_t>(context.rank())] = &side;
        ready.arrive_and_wait();
        if (context.rank() == 1) return finished.wait();
        Stage stage{*sides[0], *sides[1]};
        warm_up(stage);
        for (int i = 0; i < rounds; ++i) count_steps(stage);
        finished.count_down();
      },
      options);
}

}  // namespace godwit::instructions
