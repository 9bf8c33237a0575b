// `godwit ibstat`: the RDMA adapters of this host, and which ports and GIDs Godwit would use.
#include "common/usage.hpp"
#include "tool/commands.hpp"
#include "tool/ibstat_text.hpp"

#include <godwit/error.hpp>

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

namespace godwit::apps {
namespace {

struct Wanted {
  std::string adapter;
  unsigned port = 0;  // 0: all
  bool list = false, json = false;
};

std::string names_of(const std::vector<runtime::Adapter>& adapters) {
  std::string names;
  for (const runtime::Adapter& adapter : adapters)
    names += fmt::format("{}{}", names.empty() ? "" : ", ", adapter.facts.name);
  return names.empty() ? "none" : names;
}

void keep_wanted(std::vector<runtime::Adapter>& adapters, const Wanted& wanted) {
  if (wanted.adapter.empty()) return;
  const auto found =
      std::ranges::find(adapters, wanted.adapter, [](const auto& adapter) { return adapter.facts.name; });
  if (found == adapters.end())
    throw Error(ErrorCode::invalid_argument,
                fmt::format("there is no adapter `{}` on this host; it has: {}", wanted.adapter, names_of(adapters)));
  const auto& ports = found->facts.ports;
  if (wanted.port != 0 && std::ranges::find(ports, wanted.port, &verbs::PortFacts::number) == ports.end())
    throw Error(ErrorCode::invalid_argument, fmt::format("{} has no port {}; the number of its ports is {}",
                                                         wanted.adapter, wanted.port, ports.size()));
  adapters = {std::move(*found)};
}

void print_json(const runtime::Adapters& found, const Wanted& wanted) {
  nlohmann::json adapters = nlohmann::json::array();
  for (const runtime::Adapter& adapter : found.adapters) adapters.push_back(ibstat_json(adapter, wanted.port));
  const nlohmann::json all{{"adapters", std::move(adapters)}, {"warnings", found.warnings}, {"problem", found.problem}};
  fmt::print("{}\n", all.dump(2));
}

int show(const Wanted& wanted) {
  runtime::Adapters found = runtime::find_adapters();
  keep_wanted(found.adapters, wanted);
  if (found.adapters.empty())
    fmt::print(stderr, "godwit: no RDMA adapter on this host (no driver loaded? none in this container?)\n");
  if (wanted.json) {
    print_json(found, wanted);
  } else {
    for (const runtime::Adapter& adapter : found.adapters)
      fmt::print("{}", wanted.list ? adapter.facts.name + "\n" : ibstat_text(adapter, wanted.port));
    std::fflush(stdout);
  }
  for (const std::string& warning : found.warnings) fmt::print(stderr, "godwit: warning: {}\n", warning);
  if (found.problem.empty()) return 0;
  fmt::print(stderr, "godwit: {}\n", found.problem);
  return 1;
}

}  // namespace

void add_ibstat(CLI::App& godwit, Action& chosen) {
  auto wanted = std::make_shared<Wanted>();
  CLI::App* command =
      godwit.add_subcommand("ibstat", "Show RDMA adapters, their GIDs, and what Godwit would use of them");
  command->add_option("CA", wanted->adapter, "only this adapter, such as mlx5_0");
  command->add_option("PORT", wanted->port, "and only this port of it")->check(CLI::Range(1U, 255U));
  command->add_flag("-l,--list", wanted->list, "names only");
  command->add_flag("--json", wanted->json, "as JSON");
  command->callback([wanted, &chosen] { chosen = [wanted] { return show(*wanted); }; });
}

}  // namespace godwit::apps
