#include "verbs/aliases.hpp"

#include <cerrno>
#include <cstdlib>
#include <string>

#include "verbs/hca_filter.hpp"

namespace godwit::verbs {
namespace {

// NCCL's numbers may be hexadecimal or octal: a traffic class is often written 0x6a.
std::string number_from_nccl(const std::string& value) {
  char* end = nullptr;
  errno = 0;
  const long long number = std::strtoll(value.c_str(), &end, 0);
  const bool whole = errno == 0 && end != value.c_str() && *end == '\0';
  return whole ? std::to_string(number) : value;  // the option says what it accepts
}

}  // namespace

void add_nccl_aliases(core::OptionSet& options) {
  options.alias("NCCL_IB_DISABLE", "IB_DISABLE");
  options.alias("NCCL_IB_HCA", "IB_HCA", hca_from_nccl);
  options.alias("NCCL_IB_GID_INDEX", "IB_GID_INDEX", number_from_nccl);
  options.alias("NCCL_IB_TC", "IB_TC", number_from_nccl);
  options.alias("NCCL_IB_SL", "IB_SL", number_from_nccl);
  options.alias("NCCL_IB_PKEY", "IB_PKEY", number_from_nccl);
  options.alias("NCCL_IB_TIMEOUT", "IB_TIMEOUT", number_from_nccl);
  options.alias("NCCL_IB_RETRY_CNT", "IB_RETRY_CNT", number_from_nccl);
}

}  // namespace godwit::verbs
