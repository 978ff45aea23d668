// Numbers for people: few digits, rounded to the safe side, as the command line shows them.

const DIGITS = 4;

function rounded(x, up, shift = 0) {
  if (x === null || x === undefined) return "∞";
  if (x === 0) return "0";
  // A hundred digits say exactly whether something is cut off.
  const [mantissa, power] = x.toExponential(100).split("e");
  const all = mantissa.replace(".", "");
  let exponent = Number(power) + shift;
  let kept = BigInt(all.slice(0, DIGITS));
  if (up && /[1-9]/.test(all.slice(DIGITS))) kept += 1n;
  let digits = kept.toString();
  if (digits.length > DIGITS) { digits = digits.slice(0, DIGITS); exponent += 1; }
  const exact = !/[1-9]/.test(all.slice(DIGITS));
  if (exact && exponent <= 6) digits = digits.replace(/0+$/, "");
  if (exponent < -4 || exponent > 6) {
    return `${digits[0]}${digits.length > 1 ? "." + digits.slice(1) : ""}e${exponent > 0 ? "+" : ""}${exponent}`;
  }
  if (exponent < 0) return "0." + "0".repeat(-exponent - 1) + digits;
  const padded = digits.padEnd(exponent + 1, "0");
  const whole = padded.slice(0, exponent + 1), rest = padded.slice(exponent + 1);
  return rest ? `${whole}.${rest}` : whole;
}

// A level as it was given, if that is short: the double next to 2.6 is above it.
export const givenOrUp = (x) => (Number(x.toPrecision(DIGITS)) === x ? String(x) : rounded(x, true));

export const roundUp = (x) => rounded(x, true);
export const roundDown = (x) => rounded(x, false);
export const percentUp = (x) => rounded(x, true, 2);

// e**x: browsers are off by an ulp or two.
export const growthUp = (x) => rounded(Math.exp(x) * (1 + 2 ** -49), true);

// The decimal on a slider: two digits, short.
export function short(x) {
  if (x >= 100) return String(Number(x.toPrecision(2)));
  return Number(x.toPrecision(2)).toString().replace("e+", "e");
}
