import { describe, expect, it } from 'vitest';

import { PALETTE } from '../src/explorer/styles';

const BACKGROUNDS = ['#ffffff', '#f5f5f5', '#111111', '#212121', '#303030'];

/** Relative luminance, as WCAG 2.2 defines it. */
function luminance(colour: string): number {
  const [red, green, blue] = [1, 3, 5].map(at => {
    const part = parseInt(colour.slice(at, at + 2), 16) / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red! + 0.7152 * green! + 0.0722 * blue!;
}

function contrast(one: string, other: string): number {
  const [dark, light] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (light! + 0.05) / (dark! + 0.05);
}

describe('UI/Labels and dots: contrast on both JupyterLab themes', () => {
  it.each(Object.entries(PALETTE))('%s is at least 3:1', (_, colour) => {
    for (const background of BACKGROUNDS) {
      expect(contrast(colour, background), background).toBeGreaterThanOrEqual(3);
    }
  });
});
