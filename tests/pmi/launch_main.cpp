// `godwit run` without the rest of the tool: pmi_launch [-n N] [--keep-going] [--tag-output] [-x A=B]
// [--bind core|numa] [--report-bindings] -- COMMAND...
#include "pmi/launcher.hpp"

#include <godwit/error.hpp>

#include <cstdio>
#include <cstdlib>
#include <string_view>

int main(int argc, char** argv) {
  godwit::pmi::LaunchOptions options;
  int i = 1;
  for (; i < argc && std::string_view(argv[i]) != "--"; ++i) {
    const std::string_view flag = argv[i];
    if (flag == "--keep-going")
      options.keep_going = true;
    else if (flag == "--tag-output")
      options.tag_output = true;
    else if (flag == "--report-bindings")
      options.report_bindings = true;
    else if (flag == "--bind" && i + 1 < argc)
      options.bind = std::string_view(argv[++i]) == "numa" ? godwit::pmi::Bind::numa : godwit::pmi::Bind::core;
    else if (flag == "-n" && i + 1 < argc)
      options.ranks = std::atoi(argv[++i]);
    else if (flag == "-x" && i + 1 < argc)
      options.environment.emplace_back(argv[++i]);
    else
      return 2;
  }
  for (++i; i < argc; ++i) options.command.emplace_back(argv[i]);
  try {
    return godwit::pmi::run_local_ranks(options);
  } catch (const godwit::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
}
