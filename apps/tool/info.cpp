// `godwit info`: what this build and this job consist of, and why things are as they are.
#include "common/job.hpp"
#include "common/usage.hpp"
#include "runtime/inspect.hpp"
#include "tool/commands.hpp"

#include <fmt/format.h>
#include <godwit/context.hpp>
#include <godwit/version.hpp>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>

namespace godwit::apps {

namespace {

struct InfoOptions {
  bool options = false, markdown = false, protocols = false, collectives = false;
};

std::string transport_lines(const Context& context) {
  std::string text = "transports:\n";
  for (const runtime::TransportReport& report : runtime::transports(context))
    text +=
        fmt::format("  {:<6} {:<11} {}\n", report.name, report.available ? "available" : "unavailable", report.reason);
  return text;
}

/// Of regions of this rank.
std::string atomics_line(Communicator& world) {
  std::uint64_t word = 0;
  const bool usual = world.region_bytes(&word, sizeof word).atomics() == Atomics::adapter;
  const bool asked =
      world.region_bytes(&word, sizeof word, {.atomics = Atomics::adapter}).atomics() == Atomics::adapter;
  return fmt::format(
      "atomics of 8 bytes: executed by {}; this rank has {} adapter that executes them\n",
      usual ? "the owner's adapter (GODWIT_ATOMICS)" : "CPUs, unless GODWIT_ATOMICS or a region says adapter",
      asked ? "an" : "no");
}

/// A peer on this host, or else any.
std::optional<Rank> example_peer(const std::vector<Seat>& seats) {
  if (seats.size() == 1) return std::nullopt;
  for (std::size_t rank = 1; rank < seats.size(); ++rank)
    if (seats[rank].boot == seats[0].boot) return static_cast<Rank>(rank);
  return 1;
}

std::string protocol_lines(const Communicator& world, const std::vector<Seat>& seats) {
  std::string text =
      fmt::format("protocols towards the rank itself:\n{}", runtime::protocol_table(world, world.rank()));
  if (const auto peer = example_peer(seats))
    text += fmt::format("protocols towards rank {} on {}, by {}:\n{}", *peer,
                        seats[static_cast<std::size_t>(*peer)].host.data(), runtime::transport_name_to(world, *peer),
                        runtime::protocol_table(world, *peer));
  else
    text += "protocols towards a peer: there is none; see `godwit run -n 2 -- godwit info`\n";
  return text;
}

std::string collective_lines(const Communicator& world) {
  return fmt::format("collectives among {} ranks:\n{}", world.size(), runtime::collective_table(world));
}

/// Everything that needs a job. Only rank 0 prints; the others serve its connections until it is through.
int job_info(const InfoOptions& wanted) {
  const bool selected = wanted.protocols || wanted.collectives;
  if (!selected && first_rank_by_environment()) {  // first of all: it helps when the job does not come up
    fmt::print("godwit {}\n{}", version(), runtime::compiled_in());
    std::fflush(stdout);
  }
  Context context;
  Communicator world = context.world();
  const std::vector<Seat> seats = gather_seats(world);
  if (world.rank() == 0) {
    if (!selected) fmt::print("{}\n{}{}", context.banner(), transport_lines(context), atomics_line(world));
    if (!selected || wanted.protocols) fmt::print("{}", protocol_lines(world, seats));
    if (wanted.collectives) fmt::print("{}", collective_lines(world));
    std::fflush(stdout);
  }
  world.barrier();
  return 0;
}

}  // namespace

void add_info(CLI::App& godwit, Action& chosen) {
  auto wanted = std::make_shared<InfoOptions>();
  CLI::App* command = godwit.add_subcommand("info", "Show version, bootstrap, transports and protocols, or one part");
  command->add_flag("--options", wanted->options, "all options: type, default, help");
  command->add_flag("--markdown", wanted->markdown, "with --options: as a page in Markdown");
  command->add_flag("--protocols", wanted->protocols, "which protocol serves which size, and why");
  command->add_flag("--collectives", wanted->collectives, "which algorithm serves which collective and size");
  command->callback([wanted, &chosen] {
    chosen = [wanted] {
      if (!wanted->options && !wanted->markdown) return job_info(*wanted);
      fmt::print("{}", wanted->markdown ? runtime::options_markdown() : runtime::option_table());
      return 0;
    };
  });
}

}  // namespace godwit::apps
