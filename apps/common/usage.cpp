#include "usage.hpp"

#include <godwit/error.hpp>

#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <new>

namespace godwit::apps {

namespace {

void say(std::FILE* stream, std::string_view text) {
  fmt::print(stream, "{}{}", text, text.ends_with('\n') ? "" : "\n");
  std::fflush(stream);
}

}  // namespace

bool first_rank_by_environment() {
  constexpr std::array names = {"PMIX_RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID", "PMI_RANK", "RANK"};
  for (const char* name : names)
    if (const char* value = std::getenv(name)) return std::string_view(value) == "0";
  return true;
}

int guarded_main(std::string_view program, const std::function<int()>& body) {
  try {
    return body();
  } catch (const TextRequested& text) {
    if (first_rank_by_environment()) say(stdout, text.what());
    return 0;
  } catch (const UsageError& error) {
    say(stderr, fmt::format("{}: {} (--help lists the flags)", program, error.what()));
    return 2;
  } catch (const Reported& error) {
    return error.exit_status();
  } catch (const std::bad_alloc&) {
    say(stderr, fmt::format("{}: out of memory; use smaller sizes or fewer ranks on this host", program));
    return 1;
  } catch (const std::exception& error) {  // godwit::Error among them
    say(stderr, fmt::format("{}: {}", program, error.what()));
    return 1;
  }
}

}  // namespace godwit::apps
