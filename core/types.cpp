#include <godwit/collective.hpp>
#include <godwit/types.hpp>

#include <bit>
#include <cmath>

namespace godwit {

std::string_view to_string(DataType type) noexcept {
  switch (type) {
    case DataType::int8: return "int8";
    case DataType::uint8: return "uint8";
    case DataType::int16: return "int16";
    case DataType::uint16: return "uint16";
    case DataType::int32: return "int32";
    case DataType::uint32: return "uint32";
    case DataType::int64: return "int64";
    case DataType::uint64: return "uint64";
    case DataType::float16: return "half";
    case DataType::bfloat16: return "bfloat16";
    case DataType::float32: return "float";
    case DataType::float64: return "double";
  }
  return "unknown";
}

std::string_view to_string(ReduceOp op) noexcept {
  switch (op) {
    case ReduceOp::sum: return "sum";
    case ReduceOp::prod: return "prod";
    case ReduceOp::min: return "min";
    case ReduceOp::max: return "max";
    case ReduceOp::avg: return "avg";
  }
  return "unknown";
}

std::string_view to_string(MemoryKind kind) noexcept {
  switch (kind) {
    case MemoryKind::host: return "host";
    case MemoryKind::shared: return "shared";
    case MemoryKind::device: return "device";
  }
  return "unknown";
}

std::string_view to_string(Collective collective) noexcept {
  switch (collective) {
    case Collective::barrier: return "barrier";
    case Collective::broadcast: return "broadcast";
    case Collective::reduce: return "reduce";
    case Collective::allreduce: return "allreduce";
    case Collective::allgather: return "allgather";
    case Collective::reduce_scatter: return "reduce_scatter";
    case Collective::gather: return "gather";
    case Collective::scatter: return "scatter";
    case Collective::alltoall: return "alltoall";
    case Collective::scan: return "scan";
    case Collective::exscan: return "exscan";
    case Collective::allgatherv: return "allgatherv";
    case Collective::reduce_scatterv: return "reduce_scatterv";
    case Collective::gatherv: return "gatherv";
    case Collective::scatterv: return "scatterv";
    case Collective::alltoallv: return "alltoallv";
  }
  return "unknown";
}

namespace {

// Rounds the upper `32 - drop` bits of a binary32 to nearest, ties to even.
std::uint32_t round_shift(std::uint32_t bits, unsigned drop) noexcept {
  const std::uint32_t half_unit = (1U << (drop - 1)) - 1U;
  return (bits + half_unit + ((bits >> drop) & 1U)) >> drop;
}

}  // namespace

half::half(float value) noexcept {
  const auto f = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>((f >> 16) & 0x8000U);
  const std::uint32_t magnitude = f & 0x7fffffffU;
  std::uint32_t result = 0;
  if (magnitude > 0x7f800000U)
    result = 0x7e00U;  // NaN, quiet
  else if (magnitude >= 0x477ff000U)
    result = 0x7c00U;  // rounds to infinity
  else if (magnitude >= 0x38800000U)
    result = round_shift(magnitude - 0x38000000U, 13);  // normal
  else
    // Subnormal: adding 0.5 puts the wanted bits at the end of the mantissa, rounded by the hardware.
    result = std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + 0.5F) - 0x3f000000U;
  bits = static_cast<std::uint16_t>(sign | result);
}

half::operator float() const noexcept {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000U) << 16;
  const std::uint32_t exponent = (bits >> 10) & 0x1fU;
  const std::uint32_t mantissa = bits & 0x3ffU;
  if (exponent == 0) {
    const float value = std::ldexp(static_cast<float>(mantissa), -24);
    return sign ? -value : value;
  }
  const std::uint32_t biased = exponent == 31 ? 255U : exponent + 112U;
  return std::bit_cast<float>(sign | (biased << 23) | (mantissa << 13));
}

bfloat16::bfloat16(float value) noexcept {
  const auto f = std::bit_cast<std::uint32_t>(value);
  if ((f & 0x7fffffffU) > 0x7f800000U)
    bits = static_cast<std::uint16_t>((f >> 16) | 0x40U);  // NaN, quiet
  else
    bits = static_cast<std::uint16_t>(round_shift(f, 16));
}

bfloat16::operator float() const noexcept { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }

}  // namespace godwit
