//! A small chart as SVG: both axes go from 0 to 100 %.
//!
//! It has a white ground of its own, so that it reads the same on a light and on a dark page.

const LEFT: f64 = 52.0;
const TOP: f64 = 38.0;
const SIDE: f64 = 240.0;
const HEIGHT: f64 = TOP + SIDE + 48.0;
const WIDTH: f64 = LEFT + SIDE + 76.0;

pub(crate) const BLUE: &str = "#1f5fc4";
pub(crate) const ORANGE: &str = "#b34a00";
pub(crate) const GREY: &str = "#767676";

/// A share of each axis.
pub(crate) type Point = (f64, f64);

pub(crate) struct Plot {
    svg: String,
}

impl Plot {
    /// An empty chart with its axes.
    pub(crate) fn new(title: &str, across: &str, up: &str) -> Self {
        let mut plot = Self {
            svg: format!(
                "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" \
                 width=\"{WIDTH}\" height=\"{HEIGHT}\" role=\"img\" font-family=\"sans-serif\" \
                 font-size=\"11\">\n<title>{title}</title>\n\
                 <rect width=\"100%\" height=\"100%\" rx=\"4\" fill=\"#ffffff\"/>\n"
            ),
        };
        let (middle, bottom) = (LEFT + SIDE / 2.0, TOP + SIDE);
        plot.words((LEFT, 22.0), "font-size=\"13\" fill=\"#222222\"", title);
        for percent in [0, 20, 40, 60, 80, 100] {
            let share = f64::from(percent) / 100.0;
            plot.stroke(&[(0.0, share), (1.0, share)], "stroke=\"#e2e2e2\"");
            plot.stroke(&[(share, 0.0), (share, 1.0)], "stroke=\"#e2e2e2\"");
            let ((x, _), (_, y)) = (place((share, 0.0)), place((0.0, share)));
            let label = format!("{percent} %");
            let style = "fill=\"#444444\" text-anchor=\"middle\"";
            plot.words((x, bottom + 16.0), style, &label);
            let style = "fill=\"#444444\" text-anchor=\"end\"";
            plot.words((LEFT - 6.0, y + 4.0), style, &label);
        }
        let style = "fill=\"#222222\" text-anchor=\"middle\"";
        plot.words((middle, bottom + 36.0), style, across);
        let (x, y) = (12.0, TOP + SIDE / 2.0);
        let style = format!("{style} transform=\"rotate(-90 {x} {y})\"");
        plot.words((x, y), &style, up);
        plot
    }

    pub(crate) fn line(&mut self, points: &[Point], colour: &str) {
        let style = format!("stroke=\"{colour}\" stroke-width=\"2\"");
        self.stroke(points, &style);
    }

    pub(crate) fn dashed_line(&mut self, points: &[Point], colour: &str) {
        let style = format!("stroke=\"{colour}\" stroke-width=\"2\" stroke-dasharray=\"5 3\"");
        self.stroke(points, &style);
    }

    pub(crate) fn dot(&mut self, at: Point, colour: &str) {
        let (x, y) = place(at);
        self.add(&format!(
            "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4\" fill=\"{colour}\"/>"
        ));
    }

    /// Writes right of a point.
    pub(crate) fn label(&mut self, at: Point, colour: &str, words: &str) {
        let (x, y) = place(at);
        self.words((x + 6.0, y + 4.0), &format!("fill=\"{colour}\""), words);
    }

    pub(crate) fn finish(mut self) -> String {
        self.svg.push_str("</svg>\n");
        self.svg
    }

    fn stroke(&mut self, points: &[Point], style: &str) {
        let places = points.iter().map(|point| place(*point));
        let path: Vec<String> = places.map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        let path = path.join(" ");
        self.add(&format!(
            "<polyline points=\"{path}\" fill=\"none\" {style}/>"
        ));
    }

    fn words(&mut self, (x, y): Point, style: &str, words: &str) {
        self.add(&format!(
            "<text x=\"{x:.1}\" y=\"{y:.1}\" {style}>{words}</text>"
        ));
    }

    fn add(&mut self, element: &str) {
        self.svg.push_str(element);
        self.svg.push('\n');
    }
}

/// Where a point is on the picture.
fn place((across, up): Point) -> Point {
    (LEFT + SIDE * across, TOP + SIDE * (1.0 - up))
}
